{{- define "gvDetails" }}
The API version is `{{ .GroupVersionString }}`. The kinds are:
{{ range .SortedKinds }}
- {{ $.TypeForKind . | markdownRenderTypeLink }}
{{- end }}
{{ range .SortedTypes }}{{ template "type" . }}{{ end }}
{{- end -}}
