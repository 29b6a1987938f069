import { Link } from '@tanstack/react-router';
import { originText } from '../address/playgroundAddress.ts';
import type { RecordNode, RunOf } from '../data/records.ts';

/** Leads to the playground: a model call with its messages, a row of an experiment with the prompt that it was run with. */
export function TryLink({ record: { id, type }, run: { projectId, isExperiment } }: { record: RecordNode; run: RunOf }) {
  const kind = type === 'llm' ? 'span' : type === 'trace' && isExperiment ? 'trace' : undefined;
  if (!kind) return null;
  return (
    <Link to="/p/$projectId/playground" params={{ projectId }} search={{ from: originText({ kind, id }) }}>
      Try in the playground
    </Link>
  );
}
