{{- define "type_members" -}}
{{- if eq .Name "metadata" -}}
The metadata of every Kubernetes object.
{{- else -}}
{{ markdownRenderFieldDoc .Doc | replace "<br /><br />" "<br>" | replace "<br />" " " }}
{{- end -}}
{{- end -}}

{{- /* CEL rules are left out: the text of the field says the same, and so does the refusal. */ -}}
{{- define "validation" -}}
{{- range . -}}
{{- if not (or (contains "XValidation" .) (hasPrefix "Optional" .)) }}{{ markdownRenderFieldDoc . | replace ": \\{\\}" "" }}<br>{{ end -}}
{{- end -}}
{{- end -}}
