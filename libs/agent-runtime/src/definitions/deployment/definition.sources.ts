import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults, DEFAULT_NAMESPACE, qualifiedId, StopsIn } from '#rollcall/platform';
import { inputHashOf } from '../../tools/input.hash.js';
import type { DefinitionKey } from '../definition.js';
import { loadFromDirectory, type SpecReport } from '../spec-files/spec.loader.js';
import { SpecValidator } from '../spec-files/spec.validator.js';
import { SpecWatcher, type WatchOptions } from '../spec-files/spec.watcher.js';
import { type AgentFilesOptions, DEPLOYMENT_OPTIONS, type DeploymentOptions } from './deployment.options.js';
import type { DeployedDefinition, ManagedSource, TakenName } from './deployment.plan.js';
import { type DeploymentResult, DeploymentService } from './deployment.service.js';
import { StrictDefinitions } from './strict.definitions.js';

interface FileDefinitions {
  readonly report: SpecReport;
  readonly definitions: readonly DeployedDefinition[];
  readonly managed: ManagedSource;
  /** The report of the loader, before the specs are checked. */
  readonly parsed?: SpecReport;
}

interface FilesListener {
  /** What the listener knows already. */
  readonly known: FileDefinitions;
  readonly onChange: (files: FileDefinitions) => Promise<void>;
  readonly onError: WatchOptions['onError'];
}

/** Reads the definitions of spec files, for the default namespace. */
@Injectable()
export class DefinitionFiles {
  constructor(private readonly specs: SpecValidator) {}

  async load({ folder, strict, prefixes }: AgentFilesOptions): Promise<FileDefinitions> {
    const options = this.specs.optionsFor(DEFAULT_NAMESPACE, strict);
    return await this.check(await loadFromDirectory(folder, options, prefixes), strict);
  }

  /** The caller starts and closes the watcher. */
  watch({ folder, strict, prefixes }: AgentFilesOptions, { known, onChange, onError }: FilesListener): SpecWatcher {
    return new SpecWatcher(folder, {
      specOptions: () => this.specs.optionsFor(DEFAULT_NAMESPACE, strict),
      prefixes,
      onReport: async (report) => await onChange(await this.check(report, strict)),
      onError,
      ...(known.parsed && { known: known.parsed }),
    });
  }

  /** While a file is rejected, nothing is removed: the file may contain the definition that is missing. */
  private async check(parsed: SpecReport, strict?: boolean): Promise<FileDefinitions> {
    const report = await this.specs.check(parsed, DEFAULT_NAMESPACE, strict);
    const definitions = report.loaded.map(({ name, content }): DeployedDefinition => {
      return { namespace: DEFAULT_NAMESPACE, name, source: 'file', content, hash: inputHashOf(content) };
    });
    return { report, definitions, managed: { source: 'file', removes: report.rejected.length === 0 }, parsed };
  }
}

const NO_FILES: FileDefinitions = {
  report: { loaded: [], warned: [], rejected: [], skipped: [] },
  definitions: [],
  managed: { source: 'file', removes: false },
};
const ALWAYS_MANAGED: readonly ManagedSource[] = [
  { source: 'code', removes: true },
  { source: 'config', removes: true },
];

/**
 * Registers the definitions of code, configuration and files at the start of the application. A wrong definition in code or in the
 * configuration stops the start; a wrong file does not. A running replica writes again only if its files change, so replicas
 * with different versions of the deployment do not overwrite one another repeatedly: the last start wins.
 */
@Injectable()
export class DefinitionSources implements OnApplicationBootstrap {
  private readonly report = new DeploymentReport();
  private watcher: SpecWatcher | undefined;

  constructor(
    @Inject(DEPLOYMENT_OPTIONS) private readonly options: DeploymentOptions,
    private readonly strict: StrictDefinitions,
    private readonly files: DefinitionFiles,
    private readonly deployment: DeploymentService,
    private readonly faults: BackgroundFaults,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { files } = this.options;
    const strict = await this.strict.read();
    const found = files ? await this.files.load(files) : NO_FILES;
    await this.apply([...strict, ...found.definitions], [...ALWAYS_MANAGED, found.managed], found);
    if (files?.watch) await this.watch(files, found);
  }

  @StopsIn('background')
  async close(): Promise<void> {
    await this.watcher?.close();
  }

  private async apply(
    definitions: readonly DeployedDefinition[],
    managed: readonly ManagedSource[],
    { report }: FileDefinitions,
  ): Promise<void> {
    this.report.log(await this.deployment.apply(definitions, managed), report);
  }

  private async watch(options: NonNullable<DeploymentOptions['files']>, known: FileDefinitions): Promise<void> {
    this.watcher = this.files.watch(options, {
      known,
      onChange: async (found) => await this.apply(found.definitions, [found.managed], found),
      onError: (error) => this.faults.report('definitions.watch', error),
    });
    await this.watcher.start();
  }
}

/** Logs what a start or a change of files did to the definitions. */
class DeploymentReport {
  private readonly logger = new Logger('definitions');

  log(result: DeploymentResult, { warned, rejected, skipped }: SpecReport): void {
    for (const { file, line, message } of warned) this.warn('definitions.file_warning', `${file}:${line}: ${message}`);
    for (const { file, line, message } of rejected)
      this.warn('definitions.file_rejected', `${file}:${line}: ${message}`);
    for (const { file, message } of skipped) this.logger.debug({ event: 'definitions.file_skipped', file, message });
    this.logConflicts(result);
    const { added, replaced, removed, unchanged, taken } = result;
    this.logger.log({
      event: 'definitions.loaded',
      registered: added.map(idOf),
      replaced: replaced.map(idOf),
      unregistered: removed.map(idOf),
      unchanged: unchanged.length,
      taken: taken.map(({ wanted }) => idOf(wanted)),
      files: {
        warnings: warned.length,
        rejected: new Set(rejected.map(({ file }) => file)).size,
        skipped: skipped.length,
      },
    });
  }

  private logConflicts({ taken, withoutNamespace, kept }: DeploymentResult): void {
    for (const { wanted, by } of taken)
      this.warn(
        'definitions.name_taken',
        `The definition ${idOf(wanted)} (source ${wanted.source}) is not registered: ${holderOf(by)} and restart, or choose another name.`,
      );
    for (const one of withoutNamespace)
      this.warn(
        'definitions.namespace_missing',
        `The definition ${idOf(one)} is not registered: there is no namespace ${one.namespace}. Create it with POST /v1/namespaces and restart.`,
      );
    if (kept.length > 0)
      this.warn(
        'definitions.kept',
        `These definitions of files are kept, because the folder does not exist or a file is rejected: ${kept.map(idOf).join(', ')}.`,
      );
  }

  private warn(event: string, message: string): void {
    this.logger.warn({ event, message });
  }
}

function holderOf(by: TakenName['by']): string {
  return by === 'agent'
    ? 'a live agent that was not built from this definition has the name. Shut the agent down'
    : `the name belongs to a definition of source ${by}. Remove that definition`;
}

function idOf({ namespace, name }: DefinitionKey): string {
  return qualifiedId(namespace, name);
}
