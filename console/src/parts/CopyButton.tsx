import { useState } from 'react';

/** Copies a text, and says so for a moment. */
export function CopyButton({ label, text }: { label: string; text: () => string }) {
  const [said, setSaid] = useState<string>();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setSaid('Copied');
    } catch {
      setSaid('The browser does not let pages copy');
    }
    setTimeout(() => setSaid(undefined), 2_000);
  };
  return (
    <button type="button" onClick={() => void copy()} aria-live="polite">
      {said ?? label}
    </button>
  );
}
