/** A procedure that a model can read: a folder with a file SKILL.md and, if needed, other files. Rollcall executes nothing in it. */
export interface Skill {
  readonly name: string;
  /** What the skill is for and when to use it. */
  readonly description: string;
  /** The procedure, in Markdown. */
  readonly body: string;
  /** The estimated number of tokens of the body. */
  readonly tokens: number;
  /** The absolute path of the folder. */
  readonly root: string;
  /** Other fields of the front matter. They have no effect; `allowed-tools`, for example, never grants a tool. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** `preload`: the whole text is in the system prompt. `catalog`: the prompt has name and description, and a tool reads the rest. */
export type SkillMode = 'preload' | 'catalog';

export interface AgentSkill {
  readonly skill: Skill;
  readonly mode: SkillMode;
}
