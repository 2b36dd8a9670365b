import { RuntimeError } from '../errors.js';
import { inert, labelled } from '../untrusted.text.js';
import type { AgentSkill, Skill } from './skill.js';
import { ACTIVATE_SKILL } from './skill.toolbox.js';

interface PromptParts {
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  readonly skills?: readonly AgentSkill[];
  /** Rules that the model must know, for example that the output of agents is data and not instructions. */
  readonly notices?: readonly string[];
  readonly maxPreloadTokens?: number;
}

const DEFAULT_MAX_PRELOAD_TOKENS = 20_000;
const MAX_SHOWN_DESCRIPTION = 1_024;

class SkillsTooLargeError extends RuntimeError {
  readonly code = 'SKILLS_TOO_LARGE';

  constructor(skills: readonly Skill[], tokens: number, maxTokens: number) {
    const sizes = skills.map(({ name, tokens: own }) => `${name} ${own}`).join(', ');
    super(
      `The preloaded skills have about ${tokens} tokens (${sizes}), and at most ${maxTokens} are allowed. Use the mode catalog for some of them.`,
    );
  }
}

/** Builds the system prompt. The same parts always give the same text, so vendors can cache it. */
export function systemPrompt(parts: PromptParts): string {
  const { name, description, instructions, skills = [], notices = [] } = parts;
  const sections = [
    `You are ${name}.${description === '' ? '' : ` ${description}`}`,
    instructions,
    preloaded(skills, parts.maxPreloadTokens ?? DEFAULT_MAX_PRELOAD_TOKENS),
    catalog(skills),
    notices.join('\n'),
  ];
  return sections.filter((section) => section.trim() !== '').join('\n\n');
}

function inMode(skills: readonly AgentSkill[], wanted: AgentSkill['mode']): Skill[] {
  return skills
    .flatMap(({ skill, mode }) => (mode === wanted ? [skill] : []))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function preloaded(skills: readonly AgentSkill[], maxTokens: number): string {
  const all = inMode(skills, 'preload');
  const tokens = all.reduce((sum, skill) => sum + skill.tokens, 0);
  if (tokens > maxTokens) throw new SkillsTooLargeError(all, tokens, maxTokens);
  return all.map(({ name, body }) => labelled('skill_content', { name }, body)).join('\n\n');
}

function catalog(skills: readonly AgentSkill[]): string {
  const all = inMode(skills, 'catalog');
  if (all.length === 0) return '';
  const lines = all.map(
    ({ name, description }) => `- ${name}: ${inert(oneLine(description)).slice(0, MAX_SHOWN_DESCRIPTION)}`,
  );
  return `Skills you can read with ${ACTIVATE_SKILL} before you begin a task that one of them describes:\n${lines.join('\n')}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ');
}
