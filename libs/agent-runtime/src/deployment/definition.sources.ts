import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults, StopsIn } from '#rollcall/platform';
import type { SpecWatcher } from '../spec-files/spec.watcher.js';
import { DefinitionFiles, type FileDefinitions } from './definition.files.js';
import type { DeployedDefinition } from './deployed.definition.js';
import { DEPLOYMENT_OPTIONS, type DeploymentOptions } from './deployment.options.js';
import type { ManagedSource } from './deployment.plan.js';
import { DeploymentReport } from './deployment.report.js';
import { DeploymentService } from './deployment.service.js';
import { StrictDefinitions } from './strict.definitions.js';

const NO_FILES: FileDefinitions = {
  report: { loaded: [], warned: [], rejected: [], skipped: 0 },
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
    const strict = this.strict.read();
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
