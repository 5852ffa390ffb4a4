;; Reports what Emacs shows of the file that $PROGRAM names as JSON, in the file that $REPORT names.

(require 'json)
(require 'flymake)

(defun wait-for (what found)
  "Run what is pending until FOUND returns something, and return that."
  (let ((end (+ (float-time) 60)) answer)
    (while (not (or (setq answer (funcall found)) (> (float-time) end)))
      (accept-process-output nil 0.05))
    (or answer (error "%s did not come" what))))

(defun report ()
  "Return what is shown."
  (find-file (getenv "PROGRAM"))
  (setq eglot-sync-connect 60)
  (apply #'eglot--connect (eglot--guess-contact))
  (flymake-mode 1)
  (let* ((diagnostic (wait-for "a diagnostic" (lambda () (flymake-start) (car (flymake-diagnostics)))))
         (message (flymake-diagnostic-text diagnostic)))
    (goto-char (flymake-diagnostic-beg diagnostic))
    (beginning-of-line)
    (skip-chars-forward " ")
    (let ((hover (jsonrpc-request (eglot-current-server) :textDocument/hover (eglot--TextDocumentPositionParams))))
      (eglot-rename "result")
      `((mode . ,(symbol-name major-mode))
        (message . ,message)
        (hover . ,(plist-get (plist-get hover :contents) :value))
        (line . ,(buffer-substring-no-properties (line-beginning-position) (line-end-position)))))))

(let ((found (condition-case problem (report) (error `((error . ,(error-message-string problem)))))))
  (with-temp-file (getenv "REPORT") (insert (json-encode found)))
  (kill-emacs))
