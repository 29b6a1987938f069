import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useId } from 'react';
import type { IntegrationTestResult } from '../../../../shared/wire/integrationTest.ts';
import { type IntegrationRow, modelsQuery, testIntegration } from '../../data/integrations.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { Field } from '../../parts/Field.tsx';
import { costText, durationText, tokensText, UNKNOWN } from '../../parts/format.ts';
import { useDraft } from '../../parts/useDraft.ts';
import styles from '../Settings.module.css';

/** One real call with a chosen model: its answer, or why there is none. */
export function TestCall({ integration }: { integration: IntegrationRow }) {
  const { data: models } = useQuery(modelsQuery);
  const [draft, setDraft] = useDraft<{ model: string; prompt: string }>(`test call of ${integration.id}`);
  const { model, prompt } = draft ?? { model: '', prompt: '' };
  const listId = useId();
  const calling = useMutation({ mutationFn: () => testIntegration(integration.id, { model, prompt }) });
  const listed = models?.[integration.name]?.models ?? [];
  const send = (event: FormEvent) => {
    event.preventDefault();
    calling.mutate();
  };
  return (
    <section className={styles.part} aria-label="Test call">
      <h2>Test call</h2>
      <p className="quiet">One real call, with the cost of one, within the limits of the integration.</p>
      <form className={styles.row} onSubmit={send}>
        <Field label="Model">
          {(of) => (
            <input
              {...of}
              list={listId}
              placeholder={listed[0] ? `${listed[0]}, the default` : 'its name'}
              autoComplete="off"
              value={model}
              onChange={({ target }) => setDraft({ prompt, model: target.value })}
            />
          )}
        </Field>
        <datalist id={listId}>
          {listed.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <Field label="Prompt">
          {(of) => (
            <input
              {...of}
              placeholder="Answer with the one word: ready"
              maxLength={4_000}
              autoComplete="off"
              value={prompt}
              onChange={({ target }) => setDraft({ model, prompt: target.value })}
            />
          )}
        </Field>
        <button type="submit" disabled={calling.isPending}>
          {calling.isPending ? 'Calling …' : 'Call it'}
        </button>
      </form>
      <div role="status">{calling.data && <Result result={calling.data} />}</div>
      {calling.error && <ErrorNote error={calling.error} />}
    </section>
  );
}

/** The advice for each kind of failure. */
const advice: Record<NonNullable<IntegrationTestResult['error']>['kind'], string> = {
  model_unknown: 'Choose a model that it has, or list this one below.',
  waited_too_long: 'Raise its limits, or try again when fewer calls are under way.',
  rate_limited: 'The provider takes no more calls now. Try again later, or limit the calls of runs below.',
  http_error: 'The provider refused the request or is in trouble: its address and the name of the model may be wrong.',
  unauthorized: 'The key is wrong or has ended: type it again below.',
  timeout: 'It was reached, and did not answer in time.',
  connection_error: 'Nothing answers at the address: look at its host, port and path.',
  malformed_answer: 'What answers does not speak the OpenAI chat protocol: the path of the address may be wrong.',
  refused: 'The service may not call this address: the operator allows it by OUTBOUND_ALLOW.',
  handler_error: 'The handler class threw an error.',
};

function Result({ result }: { result: IntegrationTestResult }) {
  const { error, text, latency_ms, cost, model, sent_otherwise } = result;
  const latency = latency_ms === null ? UNKNOWN : durationText(latency_ms * 1e6);
  return (
    <div className={styles.result}>
      <p className={error ? 'bad' : styles.good}>
        {error
          ? `It failed: ${error.kind.replaceAll('_', ' ')}${error.status === null ? '' : ` (${error.status})`}`
          : 'It answers'}
      </p>
      {error && <p className={styles.capital}>{error.message}</p>}
      {error && <p className="quiet">{advice[error.kind]}</p>}
      {text !== null && <pre>{text === '' ? '(an empty text)' : text}</pre>}
      <dl className={styles.facts}>
        <dt>Model</dt>
        <dd>{model ?? 'the default one'}</dd>
        <dt>Latency</dt>
        <dd>{latency}</dd>
        {!error && (
          <>
            <dt>Tokens</dt>
            <dd>{tokensText({ ...result })}</dd>
            <dt>Cost</dt>
            <dd>{costText(cost)}</dd>
          </>
        )}
        {sent_otherwise.length > 0 && (
          <>
            <dt>Sent otherwise</dt>
            <dd>{sent_otherwise.join('; ')}</dd>
          </>
        )}
      </dl>
    </div>
  );
}
