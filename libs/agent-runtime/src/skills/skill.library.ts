import { realpath } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { StopsIn } from '#rollcall/platform';
import { FolderWatcher } from '../definitions/spec-files/folder.watcher.js';
import { RuntimeError } from '../errors.js';
import type { Skill } from './skill.js';
import { type LoadedSkills, loadSkills, type SkillDiagnostic } from './skill.loader.js';

export interface SkillLibraryOptions {
  /** Folders that contain skills. If two skills have the same name, the skill in the first folder is used. */
  folders: readonly string[];
  /** Whether the folders are loaded again when their files change. */
  watch?: boolean;
}

class SkillNotFoundError extends RuntimeError {
  readonly code = 'SKILL_NOT_FOUND';

  constructor(name: string, known: readonly string[]) {
    const list = known.length === 0 ? 'No skill is loaded.' : `Loaded skills: ${known.join(', ')}.`;
    super(`There is no skill ${JSON.stringify(name)}. ${list}`);
  }
}

/** The skills of this installation. They are read from files at the start, by `reload` and, if the folders are watched, after each change (M-3). */
@Injectable()
export class SkillLibrary implements OnModuleInit {
  private readonly log = new Logger('skills');
  private loaded: LoadedSkills = { skills: [], diagnostics: [] };

  private readonly listeners: (() => void)[] = [];
  private watchers: FolderWatcher<LoadedSkills>[] = [];

  constructor(private readonly options: SkillLibraryOptions) {}

  /** Calls the listener when the skills have changed. Agents that were built before have the old ones. */
  onChanged(listener: () => void): void {
    this.listeners.push(listener);
  }

  async onModuleInit(): Promise<void> {
    await this.reload();
    if (!this.options.watch) return;
    this.watchers = this.options.folders.map((folder) => this.watcherOf(folder));
    for (const watcher of this.watchers) await watcher.start();
  }

  @StopsIn('background')
  async close(): Promise<void> {
    await Promise.all(this.watchers.map(async (watcher) => await watcher.close()));
  }

  async reload(): Promise<LoadedSkills> {
    return this.apply(await loadSkills(this.options.folders));
  }

  private watcherOf(folder: string): FolderWatcher<LoadedSkills> {
    return new FolderWatcher({
      locate: async () => await realpath(folder).catch(() => undefined),
      load: async () => await loadSkills(this.options.folders),
      known: this.loaded,
      onReport: (report) => void this.apply(report),
      onError: (error) => this.log.error({ event: 'skills.watch', err: error }),
    });
  }

  private apply(loaded: LoadedSkills): LoadedSkills {
    if (isDeepStrictEqual(loaded, this.loaded)) return loaded;
    this.loaded = loaded;
    for (const listener of this.listeners) listener();
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
