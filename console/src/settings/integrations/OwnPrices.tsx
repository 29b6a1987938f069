import { useMutation, useQuery } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { type OwnPrice, ownPricesQuery, saveOwnPrices } from '../../data/integrations.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { LoadingNote } from '../../parts/notes.tsx';
import { say } from '../../parts/notice.ts';
import { useDraft } from '../../parts/useDraft.ts';
import styles from '../Settings.module.css';
import { PriceLine } from './PriceLine.tsx';
import { type PriceText, priceFrom, priceText } from './priceText.ts';

/** The prices of an integration's models, in US dollars per million tokens; they win over the list. */
export function OwnPrices({ id, mayChange }: { id: string; mayChange: boolean }) {
  const { data, error } = useQuery(ownPricesQuery(id));
  return (
    <section className={styles.part} aria-label="Prices">
      <h2>Prices</h2>
      <p className="quiet">
        US dollars per million tokens, and for each call. They win over the list prices, for calls that are logged from now on. A
        model that costs nothing has 0 for input and output.
      </p>
      {error ? <ErrorNote error={error} /> : !data && <LoadingNote what="the prices" />}
      {data && <PriceForm key={JSON.stringify(data)} id={id} stored={data} mayChange={mayChange} />}
    </section>
  );
}

function PriceForm({ id, stored, mayChange }: { id: string; stored: readonly OwnPrice[]; mayChange: boolean }) {
  const [draft, setDraft] = useDraft<PriceText[]>(`prices of ${id}`);
  const rows = draft ?? stored.map(priceText);
  const saving = useMutation({
    mutationFn: () => saveOwnPrices(id, rows.map(priceFrom)),
    onSuccess() {
      setDraft(undefined);
      say('The prices are saved');
    },
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    saving.mutate();
  };
  const change = (index: number, row: PriceText | undefined) =>
    setDraft(rows.flatMap((one, at) => (at !== index ? [one] : row ? [row] : [])));
  if (!mayChange && rows.length === 0) return <p>None is set: list prices hold.</p>;
  return (
    <form onSubmit={send} className={styles.part} aria-label="Prices of models">
      {rows.length === 0 && <p>None is set: list prices hold.</p>}
      {rows.map((row, index) => (
        <PriceLine
          // biome-ignore lint/suspicious/noArrayIndexKey: a price has no other identity while its model is typed
          key={index}
          {...{ row, index, mayChange }}
          onChange={(next) => change(index, next)}
        />
      ))}
      {saving.error && <ErrorNote error={saving.error} />}
      {mayChange && (
        <div className={styles.buttons}>
          <button type="button" onClick={() => setDraft([...rows, { model: '', from: '', parts: {}, kept: {} }])}>
            Add a price
          </button>
          <button type="submit" disabled={saving.isPending || !draft}>
            Save the prices
          </button>
          {draft && (
            <button type="button" onClick={() => setDraft(undefined)}>
              Take changes back
            </button>
          )}
        </div>
      )}
    </form>
  );
}
