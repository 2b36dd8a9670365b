import { RuntimeError } from '../errors.js';
import type { Skill } from './skill.js';

export class SkillNotFoundError extends RuntimeError {
  readonly code = 'SKILL_NOT_FOUND';

  constructor(name: string, known: readonly string[]) {
    const list = known.length === 0 ? 'No skill is loaded.' : `Loaded skills: ${known.join(', ')}.`;
    super(`There is no skill ${JSON.stringify(name)}. ${list}`);
  }
}

export class SkillsTooLargeError extends RuntimeError {
  readonly code = 'SKILLS_TOO_LARGE';

  constructor(skills: readonly Skill[], tokens: number, maxTokens: number) {
    const sizes = skills.map(({ name, tokens: own }) => `${name} ${own}`).join(', ');
    super(
      `The preloaded skills have about ${tokens} tokens (${sizes}), and at most ${maxTokens} are allowed. Use the mode catalog for some of them.`,
    );
  }
}
