import type { PlaygroundFailure } from '../../../shared/wire/playground.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { lineText } from '../parts/format.ts';
import type { Call } from './calls.ts';
import styles from './Playground.module.css';

/** Says what was not done as asked. Notes that are known at the beginning come before the output, and move nothing. */
export function CallNotes({ call: { started } }: { call: Call }) {
  if (!started) return null;
  const { unsent_settings: unsent, unused_variables: unused } = started;
  return (
    <>
      {unsent.length > 0 && (
        <p className={styles.note}>Not sent, since the model does not take it: {lineText(unsent.join(', '))}</p>
      )}
      {unused.length > 0 && <p className={styles.note}>Given, and in no message: {lineText(unused.join(', '))}</p>}
    </>
  );
}

/** Why a call failed with what can be done, and what else is known at its end. It stands below the output. */
export function Failure({ call: { failure, error, outcome, state } }: { call: Call }) {
  if (error !== undefined) return <ErrorNote error={error} />;
  const tries = outcome && outcome.num_tries > 1 ? `It took ${outcome.num_tries} tries. ` : '';
  const otherwise = outcome?.sent_otherwise ?? [];
  const notes = tries + otherwise.map((one) => `${one}. `).join('');
  return (
    <>
      {failure && state === 'failed' && (
        <div role="alert" className={styles.failure}>
          <p>{failure.detail}</p>
          <p className="quiet">
            <code>{failure.kind}</code>
            {failure.status !== null && ` · HTTP ${failure.status}`} · {remedies[failure.kind]}
          </p>
        </div>
      )}
      {notes !== '' && <p className={styles.note}>{notes}</p>}
      {outcome?.is_recorded === false && <p className={styles.note}>The call could not be recorded: it has no trace.</p>}
    </>
  );
}

const remedies: Record<PlaygroundFailure, string> = {
  rate_limited: 'Wait a little, then run it again, or with fewer models at a time.',
  http_error: 'Is the name of the model right, and does it take these settings?',
  unauthorized: 'The key of the integration is refused: whoever keeps the integration renews it.',
  timeout: 'Run it again, ask for fewer tokens, or take a faster model.',
  connection_error: 'The address of the integration does not answer: is it right, and does the endpoint run?',
  malformed_answer: 'The endpoint does not answer as its kind does: is the integration of the right provider?',
  refused: 'The rules for addresses of this service, or for files of a prompt, forbid it.',
  waited_too_long: 'Runs use up the limits of the integration, or its endpoint asks to wait: try it again later.',
  handler_error: 'The code of the integration failed: whoever keeps the integration looks into it.',
  cancelled: 'Run it again when you like.',
  stopping: 'The service is being started anew: run it again in a minute.',
  internal: 'Run it again; if it stays, the log of the service says more.',
};
