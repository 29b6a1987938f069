import styles from '../Settings.module.css';
import { keptText, type PriceText, priceParts, rateRange } from './priceText.ts';

interface Props {
  row: PriceText;
  index: number;
  mayChange: boolean;
  onChange(row: PriceText | undefined): void;
}

/** `2026-07-01`, or a whole time as it is stored. */
const DAY = String.raw`\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(T.*)?`;

/** One price of a model, from a day on. */
export function PriceLine({ row, index, mayChange, onChange }: Props) {
  const name = (label: string) => `${label}, price ${index + 1}`;
  const kept = keptText(row.kept);
  return (
    <div className={styles.price}>
      <label className={styles.wide}>
        Model
        <input
          required
          readOnly={!mayChange}
          aria-label={name('Model')}
          value={row.model}
          onChange={({ target }) => onChange({ ...row, model: target.value })}
        />
      </label>
      <label className={styles.wide}>
        From (UTC)
        <input
          readOnly={!mayChange}
          aria-label={name('From, in UTC')}
          placeholder="always, or 2026-07-01"
          pattern={DAY}
          title="A day, such as 2026-07-01; empty: always"
          value={row.from}
          onChange={({ target }) => onChange({ ...row, from: target.value })}
        />
      </label>
      {priceParts.map(([part, label]) => (
        <label key={part}>
          {label}
          <input
            readOnly={!mayChange || part in row.kept}
            inputMode="decimal"
            pattern={part in row.kept ? undefined : '[0-9]*\\.?[0-9]+'}
            aria-label={name(label)}
            value={rateRange(row.kept[part]) ?? row.parts[part] ?? ''}
            onChange={({ target }) => onChange({ ...row, parts: { ...row.parts, [part]: target.value } })}
          />
        </label>
      ))}
      {mayChange && (
        <button type="button" aria-label={name('Remove')} onClick={() => onChange(undefined)}>
          Remove
        </button>
      )}
      {kept !== '' && <p className="quiet">Stays as it is: {kept}.</p>}
    </div>
  );
}
