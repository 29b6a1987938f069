import type { Estimate } from '../data/start.ts';
import { costText, countText, UNKNOWN } from '../parts/format.ts';
import styles from './StartPage.module.css';

interface Props {
  estimate: Estimate | undefined;
  isOld: boolean;
  /** Why there is no estimate: something is to be chosen, a mistake to be mended, or the service did not answer. */
  lacks: 'chosen' | 'mended' | 'answered' | undefined;
}

/** Shows the estimated cost of the run, and how it is estimated. */
export function CostEstimate({ estimate, isOld, lacks }: Props) {
  return (
    <section className={styles.estimate} aria-label="What it will cost" aria-busy={isOld}>
      <h2>What it will cost</h2>
      {lacks || !estimate ? (
        <p className="quiet">{lacks ? waitsFor[lacks] : 'Estimating …'}</p>
      ) : (
        <Estimated estimate={estimate} />
      )}
    </section>
  );
}

const waitsFor = {
  chosen: 'Choose rows and what runs them: the estimate comes by itself.',
  mended: 'The estimate comes once the marked fields are right.',
  answered: 'There is no estimate: the reason is below.',
} as const;

function Estimated({ estimate }: { estimate: Estimate }) {
  const { rows, trials, executions, run, metrics, cost, is_whole: isWhole } = estimate;
  const judges = metrics.filter(({ judge_model, calls }) => judge_model !== null || calls !== 0);
  const unknown = [...new Set([run, ...metrics].flatMap(({ unknown: why }) => why ?? []))];
  return (
    <>
      <p role="status" className={styles.sum}>
        <strong>{cost === null ? 'Not known' : `${isWhole ? 'About' : 'At least'} ${costText(cost)}`}</strong>
        <span className="quiet">
          {countText(rows)} rows × {countText(trials)} {trials === 1 ? 'trial' : 'trials'} = {countText(executions)} executions
        </span>
      </p>
      <table className={styles.calls}>
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col" className="number">
              Calls
            </th>
            <th scope="col" className="number">
              Tokens
            </th>
            <th scope="col" className="number">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {run.calls !== 0 && <Calls name={run.model ?? 'what runs the rows'} of={run} />}
          {judges.map((one) => (
            <Calls key={one.scorer_id} name={`${one.name}, judged by ${one.judge_model ?? 'no model yet'}`} of={one} />
          ))}
        </tbody>
      </table>
      {run.calls === 0 && judges.length === 0 && <p className="quiet">No model is called.</p>}
      {unknown.map((why) => (
        <p key={why} className={styles.unknown}>
          Not in it: {why}.
        </p>
      ))}
      <details className={styles.more}>
        <summary>How this is estimated</summary>
        <p className="quiet">{howOf(estimate)}</p>
      </details>
    </>
  );
}

const Calls = ({ name, of }: { name: string; of: Estimate['run'] | Estimate['metrics'][number] }) => (
  <tr>
    <td>{name}</td>
    <td className="number">{countText(of.calls)}</td>
    <td className="number">
      {of.input_tokens === null ? UNKNOWN : `${countText(of.input_tokens)} → ${countText(of.output_tokens)}`}
    </td>
    <td className="number">{costText(of.cost)}</td>
  </tr>
);

function howOf({ sampled_rows: sampled, rows, run }: Estimate): string {
  const answers =
    run.answers === 'reference'
      ? 'An answer is taken to be as long as the reference outputs.'
      : run.answers === 'assumed'
        ? 'No row has a reference output: an answer is taken to have 500 tokens.'
        : '';
  const most =
    run.most_cost !== null && run.calls !== 0 ? ` If each were as long as the model may answer: ${costText(run.most_cost)}.` : '';
  return `From ${countText(sampled)} of ${countText(rows)} rows: the prompt is rendered for each, and the prompts of judges are made for it; four characters are a token. ${answers}${most} An answer of a judge has 500 tokens. Repeated calls, cached tokens and what a model thinks before it answers are not in it.`;
}
