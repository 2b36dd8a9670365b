import { Injectable } from '@nestjs/common';
import { NamespaceNotFoundError } from '#rollcall/platform';
import { RuntimeError } from '../errors.js';
import { AgentExistsError } from '../lifecycle/lifecycle.errors.js';
import { inputHashOf } from '../tools/input.hash.js';
import { DefinitionConfiguredError } from './definition.errors.js';
import type { DeployedDefinition, DeploymentPlan, ManagedSource, TakenName } from './deployment/deployment.plan.js';
import { DeploymentService } from './deployment/deployment.service.js';
import type { SpecOptions } from './spec-files/spec.js';
import {
  type FileResult,
  isSpecPath,
  parseText,
  type SpecReport,
  specReportOf,
  type SpecText,
} from './spec-files/spec.loader.js';
import { DefinitionsService } from './definitions.service.js';
import { SpecValidator } from './spec-files/spec.validator.js';

interface DefinitionImport {
  readonly namespace: string;
  readonly by: string;
  readonly files: readonly SpecText[];
  /** Whether a file with a warning is rejected. */
  readonly strict: boolean;
}

/** An import that is read and checked, but not written. */
interface PreparedImport extends Omit<DefinitionImport, 'strict'> {
  readonly report: SpecReport;
  readonly definitions: readonly DeployedDefinition[];
}

export type ImportChange = 'registered' | 'replaced' | 'unchanged';

export interface ImportProblem {
  readonly line: number;
  readonly message: string;
}

/** The result of one file. */
export interface ImportedFile {
  readonly path: string;
  /** Why the file, such as a README, contains no definition although it has no errors. */
  readonly skipped?: string;
  readonly definitions: readonly { readonly name: string; readonly change: ImportChange }[];
  readonly warnings: readonly ImportProblem[];
  readonly errors: readonly ImportProblem[];
}

/** The numbers count files. A JSON file with correct and wrong definitions counts as loaded and as rejected. */
export interface ImportReport {
  readonly loaded: number;
  readonly warned: number;
  readonly rejected: number;
  readonly skipped: number;
  /** In the order of the request. */
  readonly files: readonly ImportedFile[];
}

class ImportTooLargeError extends RuntimeError {
  readonly code = 'DEFINITION_IMPORT_TOO_LARGE';

  constructor(limit: number) {
    super(`The files contain more than ${limit} definitions. Send several imports.`);
  }
}

const AGENTS_FOLDER = '.claude/agents/';
const MAX_DEFINITIONS = 1_000;

const NOT_A_SPEC =
  'Only Markdown and JSON files are read, without hidden ones; if there are files below .claude/agents, only these.';

/** Imported definitions belong to REST: other requests can change them, and an import removes no definitions. */
const REST: readonly ManagedSource[] = [{ source: 'rest', removes: false }];

/** Imports definitions from the texts of spec files. A wrong file does not stop the import of the others. */
@Injectable()
export class DefinitionImports {
  constructor(
    private readonly specs: SpecValidator,
    private readonly deployment: DeploymentService,
    private readonly registered: DefinitionsService,
  ) {}

  /** Reads and checks the files. It needs no transaction. */
  async prepare({ namespace, by, files, strict }: DefinitionImport): Promise<PreparedImport> {
    const parsed = await readImport(files, this.specs.optionsFor(namespace, strict));
    const report = await this.specs.check(parsed, namespace, strict);
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
    await this.registered.checkQuota(namespace);
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

/**
 * Reads files that are in memory, with the rules of a folder: if there are files below `.claude/agents`, only these are read, and
 * hidden files and files of other types are skipped. Other requests can proceed between two files.
 */
async function readImport(files: readonly SpecText[], options: SpecOptions): Promise<SpecReport> {
  const results: FileResult[] = [];
  let count = 0;
  for (const file of specFiles(files)) {
    await new Promise(setImmediate);
    const result = parseText(file, options);
    count += result.specs.length;
    if (count > MAX_DEFINITIONS) throw new ImportTooLargeError(MAX_DEFINITIONS);
    results.push(result);
  }
  return specReportOf(results, [], options.strict);
}

function specFiles(files: readonly SpecText[]): SpecText[] {
  const inner = files.filter(({ path }) => path.startsWith(AGENTS_FOLDER));
  if (inner.length === 0) return files.filter(({ path }) => isSpecPath(path));
  return inner.filter(({ path }) => isSpecPath(path.slice(AGENTS_FOLDER.length)));
}

/** `changes` contains, for each loaded definition, its change or the reason why it is rejected. */
function importReport(
  files: readonly SpecText[],
  { loaded, warned, rejected, skipped }: SpecReport,
  changes: ReadonlyMap<string, ImportChange | Error>,
): ImportReport {
  const specs = Map.groupBy(loaded, ({ file }) => file);
  const warnings = Map.groupBy(warned, ({ file }) => file);
  const errors = Map.groupBy(rejected, ({ file }) => file);
  const reasons = new Map(skipped.map(({ file, message }) => [file, message]));
  const imported = files.map(({ path }): ImportedFile => {
    const own = (specs.get(path) ?? []).map(({ name, line }) => ({ name, line, change: changes.get(name) }));
    const refused = own.flatMap(({ line, change }) =>
      change instanceof Error ? [{ line, message: change.message }] : [],
    );
    const result = {
      path,
      definitions: own.flatMap(({ name, change }) => (typeof change === 'string' ? [{ name, change }] : [])),
      warnings: (warnings.get(path) ?? []).map(toProblem),
      errors: [...(errors.get(path) ?? []).map(toProblem), ...refused],
    };
    const isEmpty = [result.definitions, result.warnings, result.errors].every(({ length }) => length === 0);
    return isEmpty ? { ...result, skipped: reasons.get(path) ?? NOT_A_SPEC } : result;
  });
  return { ...countsOf(imported), files: imported };
}

function toProblem({ line, message }: ImportProblem): ImportProblem {
  return { line, message };
}

function countsOf(files: readonly ImportedFile[]): Omit<ImportReport, 'files'> {
  const count = (matches: (file: ImportedFile) => boolean): number => files.filter(matches).length;
  return {
    loaded: count(({ definitions }) => definitions.length > 0),
    warned: count(({ warnings }) => warnings.length > 0),
    rejected: count(({ errors }) => errors.length > 0),
    skipped: count(({ skipped }) => skipped !== undefined),
  };
}
