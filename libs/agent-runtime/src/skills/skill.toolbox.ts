import { z } from 'zod';
import { labelled } from '../untrusted.text.js';
import type { ParsedInput } from '../tools/input/input.reader.js';
import type { Tool, ToolBox } from '../tools/tool.js';
import type { AgentSkill, Skill } from './skill.js';
import { filesOf, readSkillFile } from './skill.loader.js';

export const ACTIVATE_SKILL = 'activate_skill';

/** The toolbox with `activate_skill`, for the skills in mode `catalog`; undefined if there are none. */
export function skillToolBox(skills: readonly AgentSkill[]): ToolBox | undefined {
  const catalog = skills.filter(({ mode }) => mode === 'catalog').map(({ skill }) => skill);
  if (catalog.length === 0) return undefined;
  const tools = [activateSkill(new Map(catalog.map((skill) => [skill.name, skill])))];
  return { name: 'skills', isGranted: true, tools: () => tools };
}

function activateSkill(skills: ReadonlyMap<string, Skill>): Tool {
  const schema = z.strictObject({
    name: z.enum([...skills.keys()]).describe('The name of the skill'),
    file: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe('A file from the list of the skill. If absent, the skill itself is read.'),
  });
  return {
    name: ACTIVATE_SKILL,
    description: 'Reads a skill: its procedure and the list of its files, or one of these files.',
    inputSchema: z.toJSONSchema(schema),
    parse: (input): ParsedInput => {
      const parsed = schema.safeParse(input);
      return parsed.success ? { ok: true, value: parsed.data } : { ok: false, problems: z.prettifyError(parsed.error) };
    },
    idempotent: true,
    needsApproval: false,
    execute: async (input) => {
      const { name, file } = input as z.output<typeof schema>;
      const skill = skills.get(name);
      if (!skill) throw new Error(`There is no skill ${name}.`);
      return file === undefined ? await contentOf(skill) : await fileOf(skill, file);
    },
  };
}

async function contentOf(skill: Skill): Promise<string> {
  const files = await filesOf(skill);
  const list =
    files.length === 0
      ? ''
      : `\n\nFiles of this skill, which ${ACTIVATE_SKILL} can read:\n${files.map((file) => `- ${file}`).join('\n')}`;
  return labelled('skill_content', { name: skill.name }, skill.body + list);
}

async function fileOf(skill: Skill, file: string): Promise<string> {
  const text = await readSkillFile(skill, file).catch((error: unknown) => {
    const known = error as { code?: string; message: string };
    const why = known.code === 'ENOENT' ? 'there is no such file' : (known.code ?? known.message);
    throw new Error(`The file ${JSON.stringify(file)} of the skill ${skill.name} cannot be read: ${why}`);
  });
  return labelled('skill_file', { skill: skill.name, file }, text);
}
