import { RequestInvalid } from '../errors/errors.ts';
import type { AnswerForm } from '../metrics/judging/answerForms.ts';
import { isObject } from '../wire/isObject.ts';
import type { ChainPollTemplate } from '../wire/scorers.ts';

/** The names that the interface fills in where a template has none. */
const DEFAULTS = { value: 'rating', explanation: 'explanation' };
const NAME = /^[\p{L}\p{N}_-]{1,100}$/u;

/**
 * The form of an answer with the names that the template gives its members. The defaults count where the template shows the judge answers with them: in
 * its schema or in an example. Else the names of the form stay, which say what is wanted.
 */
export function withNamesOf(form: AnswerForm, template: ChainPollTemplate): AnswerForm {
  const { value_field_name: value, explanation_field_name: explanation } = template;
  const isDefault = value === DEFAULTS.value && explanation === DEFAULTS.explanation;
  if (isDefault && !showsAnswers(template)) return form;
  return {
    ...form,
    field: value,
    ...(form.field === explanation ? {} : { otherField: form.field }),
    explanationField: explanation,
  };
}

function showsAnswers({
  value_field_name: name,
  response_schema,
  metric_few_shot_examples: examples,
}: ChainPollTemplate): boolean {
  const members = response_schema?.properties;
  return (
    (isObject(members) && Object.hasOwn(members, name)) ||
    examples.some(({ evaluating_response: answer }) => answer.includes(JSON.stringify(name)))
  );
}

/** @throws RequestInvalid for names of which a judge could not make an answer that is read */
export function mustNameMembers(template: ChainPollTemplate): void {
  const names = ['value_field_name', 'explanation_field_name'] as const;
  const refused = (key: string, msg: string) =>
    new RequestInvalid([{ loc: ['body', 'chain_poll_template', key], msg, type: 'field_name' }]);
  for (const key of names)
    if (!NAME.test(template[key])) throw refused(key, 'the name of a member of the answer has 1 to 100 letters, digits, _ or -');
  if (template.value_field_name.toLowerCase() === template.explanation_field_name.toLowerCase())
    throw refused('value_field_name', 'the verdict and its explanation need different names');
}
