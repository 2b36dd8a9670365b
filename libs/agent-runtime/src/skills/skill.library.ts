import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { RuntimeError } from '../errors.js';
import type { Skill } from './skill.js';
import { type LoadedSkills, loadSkills, type SkillDiagnostic } from './skill.loader.js';

export interface SkillLibraryOptions {
  /** Folders that contain skills. If two skills have the same name, the skill in the first folder is used. */
  folders: readonly string[];
}

class SkillNotFoundError extends RuntimeError {
  readonly code = 'SKILL_NOT_FOUND';

  constructor(name: string, known: readonly string[]) {
    const list = known.length === 0 ? 'No skill is loaded.' : `Loaded skills: ${known.join(', ')}.`;
    super(`There is no skill ${JSON.stringify(name)}. ${list}`);
  }
}

/** The skills of this installation. They are read from files at the start and by `reload`. */
@Injectable()
export class SkillLibrary implements OnModuleInit {
  private readonly log = new Logger('skills');
  private loaded: LoadedSkills = { skills: [], diagnostics: [] };

  constructor(private readonly options: SkillLibraryOptions) {}

  async onModuleInit(): Promise<void> {
    await this.reload();
  }

  async reload(): Promise<LoadedSkills> {
    this.loaded = await loadSkills(this.options.folders);
    for (const { file, line, message } of this.loaded.diagnostics) this.log.warn(`${file}:${line}: ${message}`);
    return this.loaded;
  }

  /** Sorted by name. */
  list(): readonly Skill[] {
    return this.loaded.skills;
  }

  get diagnostics(): readonly SkillDiagnostic[] {
    return this.loaded.diagnostics;
  }

  find(name: string): Skill | undefined {
    return this.loaded.skills.find((skill) => skill.name === name);
  }

  get(name: string): Skill {
    const skill = this.find(name);
    if (skill) return skill;
    throw new SkillNotFoundError(
      name,
      this.loaded.skills.map(({ name: known }) => known),
    );
  }
}
