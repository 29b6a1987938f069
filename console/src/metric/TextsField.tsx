import styles from './Judge.module.css';

interface Props {
  legend: string;
  /** Label of one of the texts. */
  one: string;
  texts: readonly string[];
  /** So many stay. */
  least?: number;
  onTexts(texts: string[]): void;
}

/** Several texts in their order. Each may have several lines. */
export function TextsField({ legend, one, texts, least = 0, onTexts }: Props) {
  return (
    <fieldset className={styles.texts}>
      <legend>{legend}</legend>
      {texts.map((text, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a text is known by its place alone
        <div key={at}>
          <textarea
            aria-label={`${one} ${at + 1}`}
            required
            spellCheck={false}
            rows={Math.min(10, text.split('\n').length)}
            value={text}
            onChange={(event) => onTexts(texts.with(at, event.target.value))}
          />
          {texts.length > least && (
            <button
              type="button"
              aria-label={`Remove ${one.toLowerCase()} ${at + 1}`}
              onClick={() => onTexts(texts.toSpliced(at, 1))}
            >
              Remove
            </button>
          )}
        </div>
      ))}
      <button type="button" onClick={() => onTexts([...texts, ''])}>
        Add a {one.toLowerCase()}
      </button>
    </fieldset>
  );
}
