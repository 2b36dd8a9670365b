import { list, setting } from './setting.js';

/** The folders in which other tools keep skills. A folder that does not exist is ignored. */
export const DEFAULT_SKILL_FOLDERS = ['.agents/skills', '.claude/skills'];

export const skills = setting(list(DEFAULT_SKILL_FOLDERS), {
  env: 'ROLLCALL_SKILLS_DIR',
  about:
    'Folders with skills (see runtime/skills.md), relative to the working directory. If two skills have the same name, the skill of the first folder is used.',
  expects: 'paths separated by commas',
  defaultText: '.agents/skills,.claude/skills, if they exist',
});
