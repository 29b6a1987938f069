import { useMatch } from '@tanstack/react-router';
import { useCallback, useEffect, useState } from 'react';

/**
 * Keeps what the user has typed and not saved, for this tab of the browser, over a reload and over a sign-in. Undefined: nothing was typed.
 * @param key names what it is a draft of
 */
export function useDraft<T>(key: string): [T | undefined, (draft: T | undefined) => void] {
  const place = placeOf(key);
  const [state, setState] = useState(() => ({ place, draft: read<T>(place) }));
  if (state.place !== place) setState({ place, draft: read<T>(place) });
  const set = useCallback(
    (draft: T | undefined) => {
      setState({ place, draft });
      write(place, draft);
    },
    [place],
  );
  return [state.draft, set];
}

/** Discards a draft, and brings it back until something else is typed: a click by mistake loses nothing. */
export function useDiscard<T>([draft, set]: readonly [T | undefined, (draft: T | undefined) => void]) {
  const [discarded, setDiscarded] = useState<T>();
  return {
    discard: () => {
      setDiscarded(draft);
      set(undefined);
    },
    bringBack: draft === undefined && discarded !== undefined ? () => set(discarded) : undefined,
  };
}

/**
 * A text that is typed over another, such as the filter that was asked for, until that one changes: kept as {@link useDraft} keeps it.
 * @returns the text, and how to set it; set to `over` it is none
 */
export function useTextOver(key: string, over: string): [string, (text: string) => void] {
  const [draft, setDraft] = useDraft<{ over: string; text: string }>(key);
  const isPast = draft !== undefined && draft.over !== over;
  useEffect(() => {
    if (isPast) setDraft(undefined);
  }, [isPast, setDraft]);
  const set = useCallback((text: string) => setDraft(text === over ? undefined : { over, text }), [setDraft, over]);
  return [draft?.over === over ? draft.text : over, set];
}

/** Is {@link useTextOver} for a field that each page has for itself. @param key names the field */
export function useTextOfPage(key: string, over: string): ReturnType<typeof useTextOver> {
  // The path of the shown page: as soon as the user leaves it, the location is that of the next one, while typing may go on in the field.
  const pathname = useMatch({ strict: false, select: (page) => page.pathname });
  return useTextOver(`${key} on ${pathname}`, over);
}

/** Makes a draft that of another thing. @param usual what it is where nothing was kept */
export function moveDraft<T>(from: string, to: string, usual: T): void {
  write(placeOf(to), read<T>(placeOf(from)) ?? usual);
  write(placeOf(from), undefined);
}

const placeOf = (key: string): string => `assay draft ${key}`;

function read<T>(place: string): T | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(place) ?? 'null') ?? undefined;
  } catch {
    return undefined; // a browser that keeps nothing
  }
}

function write(place: string, draft: unknown): void {
  try {
    if (draft === undefined) sessionStorage.removeItem(place);
    else sessionStorage.setItem(place, JSON.stringify(draft));
  } catch {
    // Without storage, or beyond the few MB that a browser keeps, it holds for this page.
  }
}
