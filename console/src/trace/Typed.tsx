import { useTextOver } from '../parts/useDraft.ts';

/** Where a text that is typed and not given yet is kept, and the stored one that it is typed over. */
export interface Draft {
  key: string;
  over: string;
}

interface TypedProps {
  /** Absent: it is not kept. */
  draft?: Draft;
  kind: 'text' | 'number';
  value: unknown;
  onRate(text: string): void;
  min?: number;
  max?: number;
  placeholder?: string;
}

/** A field whose text counts when Enter is pressed or the field is left. */
export function Typed({ draft, kind, value, onRate, ...field }: TypedProps) {
  const before = value === undefined ? '' : String(value);
  const [typed, setTyped] = useTextOver(`answer ${draft?.key}`, draft?.over ?? before);
  return (
    <input
      key={before}
      type={kind}
      aria-label={field.placeholder ?? (kind === 'number' ? `${field.min} to ${field.max}` : 'Answer')}
      defaultValue={typed}
      {...field}
      onChange={(event) => draft !== undefined && setTyped(event.target.value)}
      onKeyDown={(event) => event.key === 'Enter' && event.currentTarget.blur()}
      onBlur={(event) => event.target.value.trim() !== before && event.target.validity.valid && onRate(event.target.value.trim())}
    />
  );
}
