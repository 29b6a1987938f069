import { useEffect } from 'react';

/** Ctrl-Enter, or Cmd-Enter, sends a form, also while somebody types in it. @param formId undefined: the key does nothing */
export function useRunKey(formId: string | undefined): void {
  useEffect(() => {
    if (formId === undefined) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat) return;
      if (document.querySelector('dialog[open]')) return;
      event.preventDefault();
      const form = document.getElementById(formId);
      if (form instanceof HTMLFormElement) form.requestSubmit();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [formId]);
}
