;;; tvms-ts-mode.el --- Major mode for tvms programs  -*- lexical-binding: t; -*-

;; Needs Emacs 29 or later.  M-x treesit-install-language-grammar RET tvms builds the grammar.

;;; Code:

(require 'python)
(require 'treesit)

(add-to-list 'treesit-language-source-alist
             '(tvms "file:///path/to/tvms" nil "editors/tree-sitter-tvms/src"))

(defvar tvms-ts-mode--font-lock
  (treesit-font-lock-rules
   :language 'tvms :feature 'comment
   '((comment) @font-lock-comment-face)
   :language 'tvms :feature 'string
   '((string_literal) @font-lock-string-face)
   :language 'tvms :feature 'keyword
   '(["as" "assert" "class" "def" "elif" "else" "for" "from" "if" "import" "in" "lambda" "return" "while" "with"
      "and" "or" "not"] @font-lock-keyword-face
     (pass_statement) @font-lock-keyword-face)
   :language 'tvms :feature 'definition
   '((function name: (identifier) @font-lock-function-name-face)
     (generic_function name: (identifier) @font-lock-function-name-face)
     (module name: (identifier) @font-lock-type-face)
     (class_with_bases name: (identifier) @font-lock-type-face)
     (keyword name: (identifier) @font-lock-variable-name-face)
     (annotated_parameter name: (identifier) @font-lock-variable-name-face))
   :language 'tvms :feature 'constant
   '([(true) (false) (none) (ellipsis) (number)] @font-lock-constant-face)
   :language 'tvms :feature 'builtin
   '(((attribute :anchor (identifier) @tvms-dialect name: (identifier) @font-lock-builtin-face)
      (:match "\\`[IRST]\\'" @tvms-dialect)))))

(defun tvms-ts-mode--name (node)
  "Return the name of the definition NODE."
  (treesit-node-text (treesit-node-child-by-field-name node "name") t))

;;;###autoload
(define-derived-mode tvms-ts-mode prog-mode "tvms"
  "Major mode for tvms programs."
  :syntax-table python-mode-syntax-table
  (unless (treesit-ready-p 'tvms)
    (error "The tree-sitter grammar of tvms is not installed: M-x treesit-install-language-grammar"))
  (treesit-parser-create 'tvms)
  (setq-local comment-start "# "
              indent-tabs-mode nil
              indent-line-function #'python-indent-line-function
              treesit-font-lock-settings tvms-ts-mode--font-lock
              treesit-font-lock-feature-list '((comment definition) (keyword string) (constant builtin))
              treesit-defun-type-regexp "\\`\\(?:generic_\\)?function\\'"
              treesit-simple-imenu-settings '(("Function" "function" nil tvms-ts-mode--name)
                                              ("Module" "module" nil tvms-ts-mode--name)))
  (treesit-major-mode-setup))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.tvms\\'" . tvms-ts-mode))

(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(tvms-ts-mode . ("tvms" "lsp"))))

(provide 'tvms-ts-mode)
;;; tvms-ts-mode.el ends here
