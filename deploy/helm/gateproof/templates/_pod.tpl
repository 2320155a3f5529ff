{{- /* The account of runs, and the claim for their reports. */ -}}
{{- define "gateproof.account" -}}
{{- if not (or .Values.rbac.create .Values.rbac.serviceAccount) -}}
{{- fail "name the account of the runs with `rbac.serviceAccount`: the chart is to make none" -}}
{{- end -}}
{{- default .Release.Name .Values.rbac.serviceAccount -}}
{{- end -}}
{{- define "gateproof.claim" -}}
{{- default (printf "%s-reports" .Release.Name) .Values.claim -}}
{{- end -}}
{{- define "gateproof.image" -}}
{{- printf "%s:%s" .Values.image.repository (default (printf "v%s" .Chart.AppVersion) .Values.image.tag) -}}
{{- end -}}
{{- /* The template of a Pod; its arguments are in .words, and .token says whether it talks to the API server. What .prune says comes before. */ -}}
{{- define "gateproof.pod" -}}
{{- $values := .root.Values -}}
metadata:
  labels: {app.kubernetes.io/name: gateproof, app.kubernetes.io/instance: {{ .root.Release.Name | quote }}}
spec:
  restartPolicy: Never
  {{- if .token }}
  terminationGracePeriodSeconds: 600 # what is ended cleans up, and Gateways may take minutes to go
  {{- end }}
  serviceAccountName: {{ if .token }}{{ include "gateproof.account" .root | quote }}{{ else }}default{{ end }}
  automountServiceAccountToken: {{ .token }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    seccompProfile: {type: RuntimeDefault}
  {{- with $values.nodeSelector }}
  nodeSelector: {{ toJson . }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations: {{ toJson . }}
  {{- end }}
  {{- with .prune }}
  initContainers:
    # So that there is room for this night.
    - name: prune
      image: {{ include "gateproof.image" $.root | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: {{ toJson . }}
      resources: {{ toJson $values.resources }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts: [{name: reports, mountPath: /reports}]
  {{- end }}
  containers:
    - name: gateproof
      image: {{ include "gateproof.image" .root | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: {{ toJson .words }}
      {{- with .job }}
      # Each Job has its own.
      env: [{name: JOB, valueFrom: {fieldRef: {fieldPath: "metadata.labels['batch.kubernetes.io/job-name']"}}}]
      {{- end }}
      resources: {{ toJson $values.resources }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      volumeMounts:
        - {name: reports, mountPath: /reports}
        - {name: scratch, mountPath: /tmp}
        {{- if and .token $values.knownFailures }}
        - {name: known-failures, mountPath: /known-failures, readOnly: true}
        {{- end }}
  volumes:
    - name: scratch
      emptyDir: {}
    - name: reports
      persistentVolumeClaim: {claimName: {{ include "gateproof.claim" .root | quote }}}
    {{- if and .token $values.knownFailures }}
    - name: known-failures
      configMap: {name: {{ printf "%s-known-failures" .root.Release.Name | quote }}}
    {{- end }}
{{- end -}}
{{- /* The arguments of a run, beside where its reports go. */ -}}
{{- define "gateproof.words" -}}
{{- $words := list "run" "--gateway-class" .Values.gatewayClass -}}
{{- if .Values.knownFailures -}}
{{- $words = concat $words (list "--known-failures" "/known-failures/known-failures.yaml") -}}
{{- end -}}
{{- toJson (concat $words .Values.arguments) -}}
{{- end -}}
