import { ServiceError } from '../errors/errors.ts';
import type { AnnotationType, RecordAnnotations } from '../wire/annotationRatings.ts';
import { recordKinds } from '../wire/recordKinds.ts';
import type { LogRecordsColumnInfo } from '../wire/recordSearch.ts';
import type { NamedTemplate } from './annotationReads.ts';

const dataTypes = {
  like_dislike: 'thumb_rating_aggregate',
  star: 'star_rating_aggregate',
  score: 'score_rating_aggregate',
  tags: 'tags_rating_aggregate',
  text: 'text_rating_aggregate',
  choice: 'category_count',
  tree_choice: 'category_count',
} as const satisfies Record<AnnotationType, LogRecordsColumnInfo['data_type']>;

const column = (
  id: string,
  label: string,
  description: string,
  data_type: LogRecordsColumnInfo['data_type'],
): LogRecordsColumnInfo => ({
  id,
  label,
  description,
  category: 'feedback',
  group_label: 'Annotations',
  data_type,
  sortable: false,
  filterable: false,
  multi_valued: false,
  is_empty: false,
  is_optional: true,
  applicable_types: [...recordKinds],
});

/**
 * The columns that a catalog lists beside those of the records, where a queue holds some of them: each is named after the place in a record where its
 * value is.
 */
export function annotationColumns(templates: readonly NamedTemplate[]): LogRecordsColumnInfo[] {
  if (templates.length === 0) return [];
  return [
    ...templates.flatMap(({ id, name, constraints }) => {
      const ratings = column(
        `annotation_aggregates/${id}`,
        name,
        `What annotators answered to ${name}.`,
        dataTypes[constraints.annotation_type],
      );
      const agreement = column(
        `annotation_agreement/${id}`,
        `${name} Agreement`,
        `How far annotators agree on ${name}, from 0 to 1.`,
        'annotation_agreement',
      );
      return constraints.annotation_type === 'text' ? [ratings] : [ratings, agreement];
    }),
    column(
      'overall_annotation_agreement',
      'Overall Agreement',
      'Mean agreement over all templates, from 0 to 1.',
      'annotation_agreement',
    ),
    {
      ...column('fully_annotated', 'Fully Annotated', 'True when every template has a rating.', 'fully_annotated'),
      filter_type: 'fully_annotated',
      filterable: true,
    },
  ];
}

const fields: readonly string[] = [
  'annotations',
  'annotation_aggregates',
  'annotation_agreement',
  'overall_annotation_agreement',
  'annotation_queue_ids',
  'fully_annotated',
  'feedback_rating_info',
];

/** True for a column that shows annotations: it may be selected, and is there in any case. */
export const isAnnotationColumn = (id: string): boolean => fields.includes(id.split('/')[0] as string);

const FEEDBACK = 'feedback/';

export const isFeedbackColumn = (id: string): boolean => id.startsWith(FEEDBACK);

/** The columns of an export that hold what annotators answered, one for each template. */
export const feedbackColumns = (templates: readonly NamedTemplate[]): string[] => templates.map(({ id }) => `${FEEDBACK}${id}`);

/**
 * The id of a column of answers, which a request may name by the template's id or name.
 * @throws ServiceError `ColumnUnknown` for a template that is not there, and for a name that several have
 */
export function feedbackColumn(column: string, templates: readonly NamedTemplate[]): string {
  const named = column.slice(FEEDBACK.length);
  if (templates.some(({ id }) => id === named)) return column;
  const [template, ...others] = templates.filter(({ name }) => name === named);
  if (template && others.length === 0) return `${FEEDBACK}${template.id}`;
  const shown = JSON.stringify(column.slice(0, 200));
  const problem = template
    ? `${shown} names several templates: take one of ${feedbackColumns([template, ...others]).join(', ')}`
    : `there is no column ${shown}: no template of these records has that id or name; there are ${templates.map(({ name }) => name).join(', ') || 'none'}`;
  throw new ServiceError('ColumnUnknown', problem, { named: { texts: [column] } });
}

/**
 * Returns the annotators' answers to a template as one cell: a single answer as it is, several as a list in the order of the annotators' ids.
 * Undefined without an answer.
 */
export function feedbackCell(annotations: unknown, column: string): unknown {
  const byAnnotator = (annotations as RecordAnnotations['annotations'] | undefined)?.[column.slice(FEEDBACK.length)];
  const answers = Object.entries(byAnnotator ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { value }]) => value);
  return answers.length > 1 ? answers : answers[0];
}
