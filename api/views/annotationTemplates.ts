import type { z } from 'zod';
import type { AnnotationTemplate } from '../../shared/annotations/annotationStore.ts';
import type { AnnotationTemplateDB } from '../../shared/wire/annotations.ts';

export const toTemplateResponse = (template: AnnotationTemplate): z.input<typeof AnnotationTemplateDB> => ({
  id: template.id,
  name: template.name,
  include_explanation: template.includeExplanation,
  criteria: template.criteria,
  constraints: template.constraints,
  created_at: template.createdAt,
  created_by: template.createdBy,
  position: template.position,
  usage_count: template.usageCount,
});
