import { useEffect, useEffectEvent } from 'react';

/** Calls what a key is bound to, unless somebody types or a dialog is open. Keys are those of `KeyboardEvent.key`. */
export function useKeys(bound: Record<string, () => void>): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
    const call = bound[event.key];
    if (!call) return;
    event.preventDefault();
    call();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKey(event);
    document.addEventListener('keydown', listener);
    return () => document.removeEventListener('keydown', listener);
  }, []);
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.matches('input, textarea, select, [contenteditable]') || target.closest('dialog[open]') !== null);
