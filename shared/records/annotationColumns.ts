import { recordKinds } from '../columns/columnDef.ts';
import type { AnnotationType } from '../wire/annotationRatings.ts';
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
