;;; emacs.el --- Plays a person in Emacs with Eglot.  -*- lexical-binding: t -*-

;; Types a mistake and takes it back, looks at the kernel's card, optimises it and waits for the verdict, and undoes the
;; step.  Emacs runs in a terminal, with the set-up of docs/editors.md as the person's init file.  The file is $FILE;
;; what was seen goes to $RESULT as JSON.

(require 'json)
(require 'seq)

(defvar seen nil "What was seen so far, newest first.")
(defvar patience 120 "Seconds: a worker that imports torch on a busy machine takes its time.")
(defvar acts nil "Each of (WHAT CONDITION DEED), in order.")
(defvar since nil "When the wait for the next act began.")
(defvar original nil "The text of the file.")

(defun saw (what value)
  (push (cons what value) seen))

(defun finish ()
  (with-temp-file (getenv "RESULT") (insert (json-encode (reverse seen))))
  (set-buffer-modified-p nil)
  (kill-emacs))

(defmacro once (what condition &rest deed)
  "Once CONDITION, which a person would call WHAT, holds in the file's buffer, do the DEED."
  (declare (indent 2))
  `(setq acts (append acts (list (list ,what (lambda () ,condition) (lambda () ,@deed))))))

(defun look ()
  "Do the next act if its time has come.  A timer calls this, so that Emacs is idle between the acts, as with a person."
  (condition-case problem
      (with-current-buffer (find-buffer-visiting (getenv "FILE"))
        (pcase-let ((`(,what ,condition ,deed) (car acts)))
          (cond ((funcall condition)
                 (pop acts)
                 (setq since (float-time))
                 (undo-boundary)
                 (funcall deed)
                 (run-hooks 'post-command-hook)) ; as after a key
                ((> (- (float-time) since) patience)
                 (error "Not within %s seconds: %s" patience what)))))
    (error (saw 'error (format "%S" problem)) (finish))))

(defun findings ()
  "What Flymake shows."
  (mapcar #'flymake-diagnostic-text (flymake-diagnostics)))

(defun shows (code)
  "The message that Flymake shows with this CODE."
  (seq-find (lambda (message) (string-match-p (regexp-quote code) message)) (findings)))

(defun go-to (words)
  "Put point before WORDS, which are the last match then."
  (goto-char (point-min))
  (search-forward words)
  (goto-char (match-beginning 0)))

(defun card ()
  "What ElDoc has to say of the place at point."
  (when (buffer-live-p eldoc--doc-buffer)
    (with-current-buffer eldoc--doc-buffer (and (> (buffer-size) 0) (buffer-string)))))

(defun answer-menu (_prompt choices &rest _)
  (saw 'menu (mapcar #'car choices))
  "Optimize kernel: Reduce rows online")

(defun answer-question (question)
  (saw 'asked question)
  t)

(once "a server" (eglot-managed-p)
  (setq original (buffer-string))
  (go-to ", other=-float(\"inf\")")
  (replace-match ""))

(once "a finding" (shows "triton.masked-load-reduced")
  (saw 'findings (findings))
  (undo))

(once "no finding" (null (findings))
  (go-to "softmax_kernel")
  (eldoc t))

(once "the card" (card)
  (saw 'card (card))
  (advice-add 'completing-read :override #'answer-menu)
  (advice-add 'y-or-n-p :override #'answer-question)
  (let ((last-nonmenu-event t)
        (began (float-time)))
    (call-interactively #'eglot-code-actions)
    (saw 'blocked (- (float-time) began))))

(once "the edit" (not (equal (buffer-string) original))
  (saw 'optimized (buffer-string)))

(once "the verdict" (shows "triton.online-reduction")
  (saw 'verdict (findings))
  (saw 'messages (with-current-buffer (messages-buffer) (split-string (buffer-string) "\n" t)))
  (undo)
  (saw 'undone (equal (buffer-string) original))
  (eglot-shutdown (eglot-current-server))
  (finish))

(setq make-backup-files nil create-lockfiles nil auto-save-default nil)
(find-file (getenv "FILE"))
(setq since (float-time))
(run-with-timer 0.1 0.1 #'look)
