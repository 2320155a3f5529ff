{{- /* The template of a Pod; its arguments are in .words, and .token says whether it talks to the API server. */ -}}
{{- define "gateproof.pod" -}}
{{- $values := .root.Values -}}
metadata:
  labels: {app.kubernetes.io/name: gateproof, app.kubernetes.io/instance: {{ .root.Release.Name }}}
spec:
  restartPolicy: Never
  serviceAccountName: {{ ternary .root.Release.Name "default" .token }}
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
  containers:
    - name: gateproof
      image: {{ printf "%s:%s" $values.image.repository (default (printf "v%s" .root.Chart.AppVersion) $values.image.tag) | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: {{ toJson .words }}
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
      {{- if $values.claim }}
      persistentVolumeClaim: {claimName: {{ $values.claim }}}
      {{- else }}
      emptyDir: {}
      {{- end }}
    {{- if and .token $values.knownFailures }}
    - name: known-failures
      configMap: {name: {{ .root.Release.Name }}-known-failures}
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
