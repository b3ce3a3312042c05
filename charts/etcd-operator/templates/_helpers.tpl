{{/* What Helm's conventions ask for on each object, beside the labels that deploy/ sets. */}}
{{- define "etcd-operators.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/part-of: etcd-operators
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "etcd-operators.image" -}}
{{- $registry := .Values.global.imageRegistry | default .Values.image.registry -}}
{{- $version := print ":" (.Values.image.tag | default .Chart.AppVersion) -}}
{{- if .Values.image.digest -}}{{- $version = print "@" .Values.image.digest -}}
{{- else if not .Values.image.tag -}}
{{- with index (.Chart.Annotations | default dict) "etcd.database.coreos.com/image-digest" -}}{{- $version = print $version "@" . -}}{{- end -}}
{{- end -}}
{{- printf "%s/%s%s" $registry .Values.image.repository $version -}}
{{- end -}}

{{/*
The objects of a file of deploy/, changed as its kustomizations change them.
  root       the chart's context
  file       the file, in files/
  name       only the object of this name, if it is set
  rename     another name for the object and for the role that it binds
  namespace  its namespace; by default that of the release
  keep       whether the objects stay when the release is uninstalled
*/}}
{{- define "etcd-operators.objects" -}}
{{- $root := .root -}}
{{- range regexSplit "(?m)^---$" ($root.Files.Get (print "files/" .file)) -1 -}}
{{- $o := fromYaml . -}}
{{- if and $o.kind (or (not $.name) (eq $.name $o.metadata.name)) -}}
{{- if and (or $root.Values.global.clusterWide $root.Values.clusterWide) (eq $o.metadata.name $root.Chart.Name) (has $o.kind (list "Role" "RoleBinding")) -}}
{{- $_ := set $o "kind" (print "Cluster" $o.kind) -}}
{{- if $o.roleRef -}}{{- $_ := set $o.roleRef "kind" "ClusterRole" -}}{{- end -}}
{{- end -}}
{{- if $.rename -}}
{{- $_ := set $o.metadata "name" $.rename -}}
{{- if $o.roleRef -}}{{- $_ := set $o.roleRef "name" $.rename -}}{{- end -}}
{{- end -}}
{{- if not (or (hasPrefix "Cluster" $o.kind) (hasPrefix "ValidatingAdmission" $o.kind) (eq $o.kind "CustomResourceDefinition")) -}}
{{- $_ := set $o.metadata "namespace" ($.namespace | default $root.Release.Namespace) -}}
{{- end -}}
{{- range $o.subjects -}}
{{- if eq .kind "ServiceAccount" -}}{{- $_ := set . "namespace" $root.Release.Namespace -}}{{- end -}}
{{- end -}}
{{- $_ := set $o.metadata "labels" (merge (include "etcd-operators.labels" $root | fromYaml) ($o.metadata.labels | default dict)) -}}
{{- if $.keep -}}
{{- $_ := set $o.metadata "annotations" (merge (dict "helm.sh/resource-policy" "keep") ($o.metadata.annotations | default dict)) -}}
{{- end -}}
{{- if and (eq $o.kind "ValidatingAdmissionPolicy") $root.Values.admission.allow -}}
{{- $first := first $o.spec.variables -}}
{{- if eq $first.name "allowed" -}}{{- $_ := set $first "expression" (printf "%s + %s" $first.expression (toRawJson $root.Values.admission.allow)) -}}{{- end -}}
{{- end -}}
{{- if and (hasSuffix "Role" $o.kind) (eq $o.metadata.name $root.Chart.Name) (($root.Values.rbac).certManager) -}}
{{- range $root.Files.Get "files/rule.yaml" | fromYamlArray -}}
{{- $_ := set $o "rules" (append $o.rules .value) -}}
{{- end -}}
{{- end }}
---
{{ toYaml $o }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Below the memory limit, so that the garbage collector works harder before the kernel kills. */}}
{{- define "etcd-operators.goMemoryLimit" -}}
{{- $limit := dig "limits" "memory" "" (.Values.resources | default dict) | toString -}}
{{- if regexMatch "^[0-9]+Mi$" $limit -}}
{{- printf "%dMiB" (div (mul (trimSuffix "Mi" $limit) 86) 100) -}}
{{- else if regexMatch "^[0-9]+Gi$" $limit -}}
{{- printf "%dMiB" (div (mul (trimSuffix "Gi" $limit) 1024 86) 100) -}}
{{- end -}}
{{- end -}}

{{- define "etcd-operators.deployment" -}}
{{- $d := .Files.Get "files/deployment.yaml" | fromYaml -}}
{{- $_ := set $d.metadata "namespace" .Release.Namespace -}}
{{- $_ := set $d.metadata "labels" (include "etcd-operators.labels" . | fromYaml) -}}
{{- $_ := set $d.spec "replicas" (int .Values.replicas) -}}

{{- $own := dict "app.kubernetes.io/name" .Chart.Name "app.kubernetes.io/part-of" "etcd-operators" -}}
{{- $_ := set $d.spec.template.metadata "labels" (merge $own .Values.podLabels) -}}
{{- with .Values.podAnnotations -}}{{- $_ := set $d.spec.template.metadata "annotations" . -}}{{- end -}}

{{- $pod := $d.spec.template.spec -}}
{{- with concat .Values.global.imagePullSecrets .Values.imagePullSecrets -}}{{- $_ := set $pod "imagePullSecrets" . -}}{{- end -}}
{{- with .Values.priorityClassName -}}{{- $_ := set $pod "priorityClassName" . -}}{{- end -}}
{{- with .Values.nodeSelector -}}{{- $_ := set $pod "nodeSelector" . -}}{{- end -}}
{{- with .Values.affinity -}}{{- $_ := set $pod "affinity" . -}}{{- end -}}
{{- $_ := set $pod "tolerations" (concat $pod.tolerations .Values.tolerations) -}}

{{- $container := first $pod.containers -}}
{{- $_ := set $container "image" (include "etcd-operators.image" .) -}}
{{- $_ := set $container "imagePullPolicy" .Values.image.pullPolicy -}}
{{- $_ := set $container "resources" .Values.resources -}}
{{- $_ := set $container "args" (concat $container.args (ternary (list "--cluster-wide") list (or .Values.global.clusterWide .Values.clusterWide)) .Values.extraArgs) -}}
{{- $replaced := list -}}
{{- range .Values.env -}}{{- $replaced = append $replaced .name -}}{{- end -}}
{{- $limit := include "etcd-operators.goMemoryLimit" . -}}
{{- $env := list -}}
{{- range $container.env -}}
{{- if eq .name "GOMEMLIMIT" -}}{{- $_ := set . "value" $limit -}}{{- end -}}
{{- if not (or (has .name $replaced) (and (eq .name "GOMEMLIMIT") (not $limit))) -}}{{- $env = append $env . -}}{{- end -}}
{{- end -}}
{{- $_ := set $container "env" (concat $env .Values.env) -}}
{{- toYaml $d -}}
{{- end -}}

{{/*
The groups of the chart's alerts, without those that the user has disabled, and without the one that
would fire for ever with a single replica.
*/}}
{{- define "etcd-operators.alerts" -}}
{{- $disabled := .Values.prometheusRule.disabled | default list -}}
{{- $out := ternary (append $disabled "EtcdOperatorOneReplica") $disabled (lt (int .Values.replicas) 2) -}}
{{- $shipped := .Files.Get (printf "files/monitoring/%s-rules.yaml" .Chart.Name) | fromYaml -}}
{{- $known := list -}}
{{- $groups := list -}}
{{- range $shipped.spec.groups -}}
{{- $rules := list -}}
{{- range .rules -}}
{{- $known = append $known .alert -}}
{{- if not (has .alert $out) -}}{{- $rules = append $rules . -}}{{- end -}}
{{- end -}}
{{- if $rules -}}{{- $groups = append $groups (set . "rules" $rules) -}}{{- end -}}
{{- end -}}
{{- range $disabled -}}
{{- if not (has . $known) -}}{{- fail (printf "prometheusRule.disabled: the chart %s has no alert %q; docs/tasks/monitoring.md lists the alerts" $.Chart.Name .) -}}{{- end -}}
{{- end -}}
{{- toYaml $groups -}}
{{- end -}}

{{/*
What a user must know who has the alerts of an operator, and not the chart's PodMonitor.
  operator  its name
  values    those of its chart
  monitor   the value that creates the PodMonitor
*/}}
{{- define "etcd-operators.metricsNote" -}}
{{- if and .values.prometheusRule.create (not .values.podMonitor.create) }}

{{ .operator | replace "-" " " | title | replace " " "" }}Down fires unless your Prometheus collects the metrics of {{ .operator }}:
set {{ .monitor }}, or create a PodMonitor of your own.
{{- end }}
{{- end -}}
