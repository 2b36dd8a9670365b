import { Injectable } from '@nestjs/common';
import { NamespaceNotFoundError } from '#rollcall/platform';
import { DefinitionConfiguredError } from '../definitions/definition.errors.js';
import type { DeployedDefinition } from '../deployment/deployed.definition.js';
import type { DeploymentPlan, ManagedSource, TakenName } from '../deployment/deployment.plan.js';
import { DeploymentService } from '../deployment/deployment.service.js';
import { SpecIntake } from '../deployment/spec.intake.js';
import { AgentExistsError } from '../lifecycle/lifecycle.errors.js';
import type { SpecReport, SpecText } from '../spec-files/spec.loader.js';
import { inputHashOf } from '../tools/input.hash.js';
import { readImport } from './import.reader.js';
import { type ImportChange, type ImportReport, importReport } from './import.report.js';

export interface DefinitionImport {
  readonly namespace: string;
  readonly by: string;
  readonly files: readonly SpecText[];
  /** Whether a file with a warning is rejected. */
  readonly strict: boolean;
}

/** An import that is read and checked, but not written. */
export interface PreparedImport extends Omit<DefinitionImport, 'strict'> {
  readonly report: SpecReport;
  readonly definitions: readonly DeployedDefinition[];
}

/** Imported definitions belong to REST: other requests can change them, and an import removes no definitions. */
const REST: readonly ManagedSource[] = [{ source: 'rest', removes: false }];

/** Imports definitions from the texts of spec files. A wrong file does not stop the import of the others. */
@Injectable()
export class DefinitionImports {
  constructor(
    private readonly intake: SpecIntake,
    private readonly deployment: DeploymentService,
  ) {}

  /** Reads and checks the files. It needs no transaction. */
  async prepare({ namespace, by, files, strict }: DefinitionImport): Promise<PreparedImport> {
    const parsed = await readImport(files, this.intake.optionsFor(namespace, strict));
    const report = this.intake.check(parsed, namespace, strict);
    const definitions = report.loaded.map(({ name, content }): DeployedDefinition => {
      return { namespace, name, source: 'rest', content, hash: inputHashOf(content) };
    });
    return { namespace, by, files, report, definitions };
  }

  /** What `write` would do now. */
  async preview({ files, report, definitions }: PreparedImport): Promise<ImportReport> {
    return importReport(files, report, changesOf(await this.deployment.plan(definitions, REST)));
  }

  async write({ namespace, by, files, report, definitions }: PreparedImport): Promise<ImportReport> {
    const { withoutNamespace, ...plan } = await this.deployment.apply(definitions, REST, by);
    if (withoutNamespace.length > 0) throw new NamespaceNotFoundError(namespace);
    return importReport(files, report, changesOf(plan));
  }
}

function changesOf({ added, replaced, unchanged, taken }: DeploymentPlan): Map<string, ImportChange | Error> {
  const entries = (all: readonly DeployedDefinition[], change: ImportChange): [string, ImportChange][] =>
    all.map(({ name }) => [name, change]);
  return new Map<string, ImportChange | Error>([
    ...entries(added, 'registered'),
    ...entries(replaced, 'replaced'),
    ...entries(unchanged, 'unchanged'),
    ...taken.map((one) => [one.wanted.name, errorOf(one)] as const),
  ]);
}

function errorOf({ wanted: { name }, by }: TakenName): Error {
  return by === 'agent' ? new AgentExistsError(name) : new DefinitionConfiguredError(name, by);
}
