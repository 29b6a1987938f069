import { NO_REFERENCE, NOTHING_RETRIEVED } from '../metrics/reasons.ts';

/** Names that people give the column of the reference answer, in small letters without what separates words. */
const likeReference: ReadonlySet<string> = new Set([
  ...['output', 'outputs', 'expected', 'expectedoutput', 'expectedanswer', 'expectedresponse', 'expectedresult', 'expect'],
  ...['answer', 'answers', 'correctanswer', 'referenceanswer', 'idealanswer', 'reference', 'referenceoutput', 'references'],
  ...['groundtruth', 'truth', 'target', 'targets', 'targetoutput', 'label', 'labels', 'gold', 'golden', 'goldanswer', 'ideal'],
  ...['solution', 'response', 'referenceresponse', 'completion', 'datasetoutput'],
]);

/** Where the reference is read from. */
const referenceColumns = ['output', 'ground_truth'];

/**
 * A reason with what would mend it, where that is known.
 * @param columns of the rows; undefined where these are not known
 */
export function withRemedy(reason: string, columns: readonly string[] | undefined): string {
  if (reason === NOTHING_RETRIEVED) return `${reason}: log what was found as the output of a retriever span`;
  if (reason !== NO_REFERENCE || columns === undefined) return reason;
  const there = columns.filter((column) => referenceColumns.includes(column));
  if (there.length > 0) return `${reason}: its column ${JSON.stringify(there[0])} is empty`;
  const like = columns.filter((column) => likeReference.has(column.toLowerCase().replaceAll(/[^a-z]/g, '')));
  const where = 'the reference is read from the column "output" (or "ground_truth")';
  if (like.length === 0) return `${reason}: ${where}, and the rows have none of that name`;
  return `${reason}: ${where}, so rename ${like.length > 1 ? 'one of ' : ''}${like.map((column) => JSON.stringify(column)).join(', ')}`;
}
