// Figures of a queue `q`: each is counted where a list shows it, or is filtered or sorted by it.
// Ordered as an index is, so that it is read also where one queue has most of the rows, and Postgres would read all of them for each.
const countOf = (table: string, key: string, more = '') =>
  `(SELECT count(*) FROM (SELECT FROM ${table} WHERE queue_id = q.id${more} ORDER BY ${key}) counted)`;
const recordsOf = countOf('annotation_queue_records', 'record_id');
const templatesOf = countOf('annotation_templates', 'position');
/**
 * The part of a queue's records that are annotated, null where it has none. A record is annotated when every template has a rating, so in a queue without templates none is: the count starts from the ratings, of which
 * people make few.
 */
export const overallProgress = `(SELECT CASE WHEN records > 0 AND templates > 0 THEN (
    SELECT count(*) FROM (SELECT record_id FROM annotation_ratings WHERE queue_id = q.id GROUP BY record_id HAVING count(DISTINCT template_id) = templates) done
  )::float8 / records END FROM (SELECT ${recordsOf} AS records, ${templatesOf} AS templates) total)`;
/** How many records each user has annotated whose progress is tracked, by their ids. */
export const annotatedByUser = `coalesce((SELECT jsonb_object_agg(tracked.user_id, (
    SELECT count(*) FROM (SELECT record_id FROM annotation_ratings a WHERE a.queue_id = q.id AND a.user_id = tracked.user_id GROUP BY record_id HAVING count(*) = ${templatesOf}) done
  )) FROM annotation_queue_users tracked WHERE tracked.queue_id = q.id AND tracked.track_progress), '{}')`;
/** The role of a user in the queue; null for none. @param userId SQL */
export const membershipOf = (userId: string) =>
  `(SELECT m.role FROM annotation_queue_users m WHERE m.queue_id = q.id AND m.user_id = ${userId})`;

/** Orders and filters of a list of queues. */
export const sortSql = {
  name: 'q.name',
  created_at: 'q.created_at',
  updated_at: 'q.updated_at',
  created_by: '(SELECT lower(u.email) COLLATE "C" FROM users u WHERE u.id = q.created_by)',
  num_users: countOf('annotation_queue_users', 'user_id'),
  num_log_records: recordsOf,
  num_templates: templatesOf,
  num_annotators: countOf('annotation_queue_users', 'user_id', " AND role = 'annotator'"),
  overall_progress: overallProgress,
} as const;
