import { useEffect, useEffectEvent } from 'react';

/** Binds Ctrl-Z, Ctrl-Shift-Z (Ctrl-Y) and Ctrl-S (on a Mac with Command) while no field has the focus; Ctrl-S works in fields, too. */
export function useEditKeys(bound: { undo(): void; redo(): void; save(): void } | undefined): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (!bound || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    const key = event.key.toLowerCase();
    const isTyping = event.target instanceof HTMLElement && event.target.matches('input:not([type=checkbox]), textarea, select');
    if (key === 's') bound.save();
    else if (isTyping) return;
    else if (key === 'y' || (key === 'z' && event.shiftKey)) bound.redo();
    else if (key === 'z') bound.undo();
    else return;
    event.preventDefault();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKey(event);
    document.addEventListener('keydown', listener);
    return () => document.removeEventListener('keydown', listener);
  }, []);
}
