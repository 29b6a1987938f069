import { parse, stringify, YAMLError } from 'yaml';
import { RequestInvalid } from '../errors/errors.ts';
import type { AnnotationRating } from '../wire/annotationRatings.ts';
import {
  type AnnotationConstraints,
  type AnnotationTemplateCreate,
  ChoicesTree,
  ChoicesTreeYaml,
  type StoredConstraints,
  type TreeChoiceNode,
} from '../wire/annotations.ts';
import type { AnnotationTemplate, NewTemplate } from './annotationStore.ts';

/** @throws RequestInvalid for a tree of choices that cannot be read or names a node twice */
export const newTemplate = (given: AnnotationTemplateCreate, newId: () => string): NewTemplate => ({
  id: newId(),
  name: given.name,
  includeExplanation: given.include_explanation,
  criteria: given.criteria ?? null,
  constraints: storedConstraints(given.constraints),
});

export const copiedTemplate = (template: AnnotationTemplate, newId: () => string): NewTemplate => ({ ...template, id: newId() });

const invalid = (key: string, msg: string): RequestInvalid =>
  new RequestInvalid([{ loc: ['body', 'template', 'constraints', key], msg, type: 'choices_tree' }]);

/** Keeps both forms of choices in a tree. The tree counts where both are given, and its text is made anew. */
function storedConstraints(given: AnnotationConstraints): StoredConstraints {
  if (given.annotation_type !== 'tree_choice') return given;
  const { choices_tree: tree, choices_tree_yaml: text } = given;
  const kept = tree ? { tree, text: textOf(tree) } : { tree: treeOf(text ?? ''), text: text ?? '' };
  const ids = [...nodeIds(kept.tree)];
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined)
    throw invalid('choices_tree', `the id ${JSON.stringify(twice)} stands at two nodes: a rating could not tell them apart`);
  return { annotation_type: 'tree_choice', choices_tree: kept.tree, choices_tree_yaml: kept.text };
}

function textOf(tree: TreeChoiceNode[]): string {
  const leafless = (nodes: TreeChoiceNode[]): object[] =>
    nodes.map(({ label, id, children }) => (children.length > 0 ? { label, id, children: leafless(children) } : { label, id }));
  const text = ChoicesTreeYaml.safeParse(stringify(leafless(tree)));
  if (!text.success) throw invalid('choices_tree', 'the tree is too large: as YAML it has more than 10,000 characters');
  return text.data;
}

function treeOf(text: string): TreeChoiceNode[] {
  const tree = ChoicesTree.safeParse(parsed(text));
  if (tree.success) return tree.data;
  const [issue] = tree.error.issues;
  throw invalid(
    'choices_tree_yaml',
    `the YAML must be a list of nodes with label, id and children: ${issue?.path.join('.') || 'the whole'}: ${issue?.message}`,
  );
}

function parsed(text: string): unknown {
  try {
    return parse(text, { maxAliasCount: 0, logLevel: 'error' });
  } catch (err) {
    // A ReferenceError is an alias, a RangeError a text that nests too deep.
    if (err instanceof YAMLError || err instanceof ReferenceError || err instanceof RangeError)
      throw invalid('choices_tree_yaml', `this is not the YAML of a tree: ${err.message.split('\n')[0]}`);
    throw err;
  }
}

function* nodeIds(nodes: readonly TreeChoiceNode[]): Generator<string> {
  for (const node of nodes) {
    yield node.id;
    yield* nodeIds(node.children);
  }
}

/** @throws RequestInvalid for a rating of another type than the template's, or one that its constraints do not allow */
export function checkRating(constraints: StoredConstraints, rating: AnnotationRating): void {
  const problem = problemOf(constraints, rating);
  if (problem === undefined) return;
  const key = rating.annotation_type === constraints.annotation_type ? 'value' : 'annotation_type';
  throw new RequestInvalid([{ loc: ['body', 'rating', key], msg: problem, type: 'rating_invalid' }]);
}

function problemOf(constraints: StoredConstraints, { annotation_type: type, value }: AnnotationRating): string | undefined {
  if (type !== constraints.annotation_type)
    return `the template takes a rating of type ${constraints.annotation_type}, not ${type}`;
  switch (constraints.annotation_type) {
    case 'score': {
      const { min, max } = constraints;
      return (value as number) < min || (value as number) > max ? `the score must be from ${min} to ${max}` : undefined;
    }
    case 'choice':
      return constraints.allow_other || constraints.choices.includes(value as string)
        ? undefined
        : 'the value is none of the choices of the template';
    case 'tags':
      return constraints.allow_other || (value as string[]).every((tag) => constraints.tags.includes(tag))
        ? undefined
        : 'a value is none of the tags of the template';
    case 'tree_choice':
      return [...nodeIds(constraints.choices_tree)].includes(value as string)
        ? undefined
        : 'the value is no id of a node in the tree of the template';
    default:
      return undefined;
  }
}
