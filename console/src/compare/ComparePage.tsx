import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { type ComparisonQuestion, comparisonQuery, type ExperimentComparison, type FoundComparison } from '../data/comparison.ts';
import { useProjectName } from '../data/projectName.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { useTitle } from '../parts/useTitle.ts';
import { Compared } from './Compared.tsx';
import { CompareHead } from './CompareHead.tsx';
import styles from './ComparePage.module.css';
import { LeftOutNote, NothingToCompare } from './LeftOut.tsx';
import { useCompareAddress } from './useCompareAddress.ts';

/** Experiments beside a baseline: verdicts, slices, and the rows with what both sides said. All that is chosen is in the address. */
export function ComparePage() {
  const { projectId } = useParams({ from: '/signed in/p/$projectId/compare' });
  useTitle('Comparison', useProjectName(projectId));
  const [{ base, with: others = [], only }] = useCompareAddress();
  const question = base === undefined || others.length === 0 ? undefined : { projectId, base, others, metrics: only };
  return (
    <div className={styles.scroller}>
      <div className={styles.page}>{question ? <Asked question={question} /> : <CompareHead projectId={projectId} />}</div>
    </div>
  );
}

function Asked({ question }: { question: ComparisonQuestion }) {
  const { projectId } = question;
  const { data, error, refetch, isPlaceholderData } = useQuery(comparisonQuery(question));
  const reply = data?.reply;
  return (
    <>
      <CompareHead projectId={projectId} question={question} reply={reply} />
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <LoadingNote what={`the comparison of ${question.others.length + 1} experiments`} />}
      {data && <Notes found={data} question={question} onRefresh={() => void refetch()} />}
      {reply && (
        <div className={styles.content} data-old={isPlaceholderData}>
          <Compared projectId={projectId} reply={reply} />
        </div>
      )}
    </>
  );
}

interface NotesProps {
  found: FoundComparison;
  question: ComparisonQuestion;
  onRefresh(): void;
}

function Notes({ found, question, onRefresh }: NotesProps) {
  const { reply, leftOut, isBaselineGone } = found;
  return (
    <>
      {(isBaselineGone || !reply) && <NothingToCompare found={found} />}
      {reply && leftOut.length > 0 && <LeftOutNote leftOut={leftOut} question={question} />}
      {reply && <Warnings reply={reply} onRefresh={onRefresh} />}
    </>
  );
}

function Warnings({ reply: { warnings, is_partial }, onRefresh }: { reply: ExperimentComparison; onRefresh(): void }) {
  if (warnings.length === 0) return null;
  return (
    <div className={styles.notes}>
      <ul className={styles.warnings}>
        {warnings.map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
      {is_partial && (
        <button type="button" onClick={onRefresh}>
          Compare again
        </button>
      )}
    </div>
  );
}
