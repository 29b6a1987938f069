import { useCopy } from './useCopy.ts';

/** Copies a text, and says so for a moment. */
export function CopyButton({ label, text }: { label: string; text: () => string }) {
  const [said, copy] = useCopy();
  return (
    <button type="button" onClick={() => void copy(text())} aria-live="polite">
      {said ?? label}
    </button>
  );
}
