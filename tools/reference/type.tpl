{{- define "type" }}{{ if markdownShouldRenderType . }}
## {{ .Name }}

{{ .Doc }}
{{ if .IsAlias }}
It is a {{ markdownRenderTypeLink .UnderlyingType }}.
{{ end }}
{{- if .References }}
Used by: {{ range $i, $r := .SortedReferences }}{{ if $i }}, {{ end }}{{ markdownRenderTypeLink $r }}{{ end }}.
{{ end }}
{{- if .Members }}
| Field | Meaning | Default | Validation |
| --- | --- | --- | --- |
{{- if .GVK }}
| `apiVersion` _string_ | `{{ .GVK.Group }}/{{ .GVK.Version }}` | | |
| `kind` _string_ | `{{ .GVK.Kind }}` | | |
{{- end }}
{{- range .Members }}
| `{{ .Name }}` _{{ markdownRenderType .Type }}_ | {{ template "type_members" . }} | {{ markdownRenderDefault .Default }} | {{ template "validation" .Validation }} |
{{- end }}
{{ end }}
{{- if .EnumValues }}{{- /* The constant's name is Go's: what a user sees is the value. */}}
| Value | Meaning |
| --- | --- |
{{- range .EnumValues }}
{{- $meaning := regexReplaceAll "^[A-Z][A-Za-z0-9]+(:| is)? " (markdownRenderFieldDoc .Doc | replace "<br />" " ") "" }}
| `{{ .Name }}` | {{ substr 0 1 $meaning | upper }}{{ substr 1 -1 $meaning }} |
{{- end }}
{{ end }}
{{- end }}{{ end -}}
