import { useEffect, useEffectEvent, useRef } from 'react';
import { currentPreferences } from './preferences.ts';

/** Milliseconds in which the second key of two follows the first. */
const SECOND_KEY_MS = 1_500;

/** Calls what a key is bound to, unless somebody types, a dialog is open, or the person has switched off keys that are characters. Keys are those of `KeyboardEvent.key`; `a q` is one after the other. */
export function useKeys(bound: Record<string, () => void>): void {
  const first = useRef({ key: '', at: 0 });
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
    if (event.key.length === 1 ? currentPreferences().keys === 'off' : event.key === 'Escape' && isMenuOpen()) return;
    const { key, at } = first.current;
    const isSecond = event.timeStamp - at < SECOND_KEY_MS;
    first.current = { key: event.key, at: event.timeStamp };
    const call = (isSecond ? bound[`${key} ${event.key}`] : undefined) ?? bound[event.key];
    if (!call) return;
    first.current.at = Number.NEGATIVE_INFINITY;
    event.preventDefault();
    call();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKey(event);
    document.addEventListener('keydown', listener);
    return () => document.removeEventListener('keydown', listener);
  }, []);
}

/** Escape closes the menu, and nothing else with it. */
const isMenuOpen = (): boolean => document.querySelector(':popover-open') !== null;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.matches('input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]') ||
    target.closest('dialog[open]') !== null);
