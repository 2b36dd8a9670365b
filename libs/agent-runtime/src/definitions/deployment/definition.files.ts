import { Injectable } from '@nestjs/common';
import { DEFAULT_NAMESPACE } from '#rollcall/platform';
import { inputHashOf } from '../../tools/input.hash.js';
import { loadFromDirectory, type SpecReport } from '../spec-files/spec.loader.js';
import { SpecValidator } from '../spec-files/spec.validator.js';
import { SpecWatcher, type WatchOptions } from '../spec-files/spec.watcher.js';
import type { AgentFilesOptions } from './deployment.options.js';
import type { DeployedDefinition, ManagedSource } from './deployment.plan.js';

export interface FileDefinitions {
  readonly report: SpecReport;
  readonly definitions: readonly DeployedDefinition[];
  readonly managed: ManagedSource;
  /** The report of the loader, before the specs are checked. */
  readonly parsed?: SpecReport;
}

export interface FilesListener {
  /** What the listener knows already. */
  readonly known: FileDefinitions;
  readonly onChange: (files: FileDefinitions) => Promise<void>;
  readonly onError: WatchOptions['onError'];
}

/** Reads the definitions of spec files, for the default namespace. */
@Injectable()
export class DefinitionFiles {
  constructor(private readonly specs: SpecValidator) {}

  async load({ folder, strict }: AgentFilesOptions): Promise<FileDefinitions> {
    const options = this.specs.optionsFor(DEFAULT_NAMESPACE, strict);
    return this.check(await loadFromDirectory(folder, options), strict);
  }

  /** The caller starts and closes the watcher. */
  watch({ folder, strict }: AgentFilesOptions, { known, onChange, onError }: FilesListener): SpecWatcher {
    return new SpecWatcher(folder, {
      specOptions: () => this.specs.optionsFor(DEFAULT_NAMESPACE, strict),
      onReport: async (report) => await onChange(this.check(report, strict)),
      onError,
      ...(known.parsed && { known: known.parsed }),
    });
  }

  /** While a file is rejected, nothing is removed: the file may contain the definition that is missing. */
  private check(parsed: SpecReport, strict?: boolean): FileDefinitions {
    const report = this.specs.check(parsed, DEFAULT_NAMESPACE, strict);
    const definitions = report.loaded.map(({ name, content }): DeployedDefinition => {
      return { namespace: DEFAULT_NAMESPACE, name, source: 'file', content, hash: inputHashOf(content) };
    });
    return { report, definitions, managed: { source: 'file', removes: report.rejected.length === 0 }, parsed };
  }
}
