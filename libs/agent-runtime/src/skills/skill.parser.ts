import { parseFrontMatter } from '../definitions/spec-files/front-matter.js';
import { SpecFileError, type SpecProblem } from '../definitions/spec-files/spec.js';
import { estimateText } from '../loop/token.estimate.js';
import type { Skill } from './skill.js';

const KNOWN_KEYS = [
  'name',
  'description',
  'license',
  'compatibility',
  'metadata',
  'allowed-tools',
  'when_to_use',
  'argument-hint',
  'arguments',
  'disable-model-invocation',
  'user-invocable',
  'disallowed-tools',
  'model',
  'effort',
  'context',
  'agent',
  'background',
  'hooks',
  'paths',
  'shell',
];
const NAME = /^[\p{Ll}\p{N}]+(-[\p{Ll}\p{N}]+)*$/u;
const MAX_NAME_LENGTH = 64;
const MAX_DESCRIPTION_LENGTH = 1_024;
/** A name that matches is used, with a warning if it breaks the rules of the specification. Other names could break a prompt. */
const USABLE_NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,99}$/u;

/** Reads the text of a SKILL.md. The name comes from the front matter, or else from the folder. */
export function parseSkill(
  text: string,
  folder: { name: string; root: string },
): { skill: Skill; warnings: SpecProblem[] } {
  const { fields, body, warnings } = parseFrontMatter(text, KNOWN_KEYS);
  const { name: statedName, description: statedDescription, ...metadata } = fields;
  const name = readName(statedName, folder.name);
  const description = readDescription(statedDescription);
  const skill = { name, description, body, tokens: estimateText(body), root: folder.root, metadata };
  return { skill, warnings: [...warnings, ...problemsOf(skill, statedName, folder.name)] };
}

function readName(stated: unknown, folder: string): string {
  const name = typeof stated === 'string' && stated.trim() !== '' ? stated.trim().normalize('NFKC') : folder;
  if (!USABLE_NAME.test(name))
    throw new SpecFileError(
      1,
      `The name ${JSON.stringify(name)} is not usable. Use lowercase letters, digits and hyphens.`,
    );
  return name;
}

function readDescription(stated: unknown): string {
  if (typeof stated === 'string' && stated.trim() !== '') return stated.trim();
  throw new SpecFileError(
    1,
    'The skill has no description. Add one that states what the skill does and when to use it.',
  );
}

function problemsOf({ name, description, body }: Skill, stated: unknown, folder: string): SpecProblem[] {
  const messages: string[] = [];
  if (stated === undefined) messages.push(`The skill has no name, so the name of its folder is used.`);
  if (!NAME.test(name) || name.length > MAX_NAME_LENGTH)
    messages.push(
      `The name must consist of lowercase letters, digits and single hyphens, and have at most ${MAX_NAME_LENGTH} characters.`,
    );
  else if (name !== folder.normalize('NFKC'))
    messages.push(`The name ${name} differs from the name of the folder, ${folder}.`);
  if (description.length > MAX_DESCRIPTION_LENGTH)
    messages.push(`The description has more than ${MAX_DESCRIPTION_LENGTH} characters. Models see only its beginning.`);
  if (body === '') messages.push('The skill has no text after the front matter.');
  return messages.map((message) => ({ line: 1, message }));
}
