import { z } from 'zod';
import type { DefinitionContent } from '../definitions/definition.js';
import { suggestion } from '../tools/closest.name.js';
import type { SpecOptions } from './spec.js';
import { type SpecProblems, shown } from './spec.problems.js';
import { textList, withoutDuplicates } from './text.list.js';

const MAX_SKILLS = 100;
const Skills = z
  .array(
    z.union([
      z.string().transform((name) => ({ name: name.trim(), mode: 'preload' as const })),
      z.strictObject({ name: z.string(), mode: z.enum(['preload', 'catalog']).default('preload') }),
    ]),
  )
  .max(MAX_SKILLS);

type SkillChoice = Pick<DefinitionContent, 'skills'>;

/** Reads `skills`. As in Claude Code, the text of a skill is preloaded, unless the entry says otherwise. */
export function readSkills(value: unknown, problems: SpecProblems, { knownSkills }: SpecOptions): SkillChoice {
  if (value === undefined || value === null) return {};
  const { success, data } = Skills.safeParse(textList(value) ?? value);
  if (!success) {
    problems.error('skills', `skills must be a list of at most ${MAX_SKILLS} names.`);
    return {};
  }
  const names = withoutDuplicates(
    'skills',
    Array.from(data, ({ name }) => name),
    problems,
  );
  const isKnown = (name: string): boolean => knownSkills === undefined || knownSkills.includes(name);
  for (const name of names.filter((one) => !isKnown(one)))
    problems.warn(
      'skills',
      `The skill ${shown(name)} does not exist${suggestion(name, knownSkills ?? [])}, so it is dropped.`,
    );
  return { skills: names.filter(isKnown).flatMap((name) => data.find((skill) => skill.name === name) ?? []) };
}
