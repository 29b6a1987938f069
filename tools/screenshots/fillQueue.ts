import { addToAnnotationQueue, createAnnotationQueue } from '../../client/annotationQueues.ts';
import type { ServiceClient } from '../../client/http.ts';

/** An annotation queue of some records, of which a few are rated. @returns its id */
export async function fillQueue(client: ServiceClient, projectId: string, runId: string, recordIds: string[]): Promise<string> {
  const { id: queueId, templates } = await createAnnotationQueue({
    ...{ client, name: 'Tone of answers' },
    templates: [
      { name: 'Friendly?', include_explanation: true, constraints: { annotation_type: 'like_dislike' } },
      { name: 'How useful?', criteria: 'Five stars for what needs no other question.', constraints: { annotation_type: 'star' } },
      {
        name: 'What is wrong?',
        constraints: { annotation_type: 'tags', tags: ['too long', 'not true', 'rude'], allow_other: true },
      },
    ],
  });
  await addToAnnotationQueue({ client, queueId, projectId, runId, recordIds });
  for (const [index, recordId] of recordIds.slice(0, 5).entries())
    for (const [template, rating] of [
      [templates[0], { annotation_type: 'like_dislike', value: index !== 2 }],
      [templates[1], { annotation_type: 'star', value: 3 + (index % 3) }],
    ] as const)
      await client.send(`/annotation_queues/${queueId}/records/${recordId}/rating`, {
        ...{ method: 'PUT', query: { annotation_template_id: template?.id } },
        body: { rating },
      });
  return queueId;
}
