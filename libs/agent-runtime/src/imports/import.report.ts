import type { SpecReport, SpecText } from '../spec-files/spec.loader.js';

export type ImportChange = 'registered' | 'replaced' | 'unchanged';

export interface ImportProblem {
  readonly line: number;
  readonly message: string;
}

/** The result of one file. A file without definitions and errors, such as a README, is skipped. */
export interface ImportedFile {
  readonly path: string;
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

/** `changes` contains, for each loaded definition, its change or the reason why it is rejected. */
export function importReport(
  files: readonly SpecText[],
  { loaded, warned, rejected }: SpecReport,
  changes: ReadonlyMap<string, ImportChange | Error>,
): ImportReport {
  const specs = Map.groupBy(loaded, ({ file }) => file);
  const warnings = Map.groupBy(warned, ({ file }) => file);
  const errors = Map.groupBy(rejected, ({ file }) => file);
  const imported = files.map(({ path }): ImportedFile => {
    const own = (specs.get(path) ?? []).map(({ name, line }) => ({ name, line, change: changes.get(name) }));
    const refused = own.flatMap(({ line, change }) =>
      change instanceof Error ? [{ line, message: change.message }] : [],
    );
    return {
      path,
      definitions: own.flatMap(({ name, change }) => (typeof change === 'string' ? [{ name, change }] : [])),
      warnings: (warnings.get(path) ?? []).map(toProblem),
      errors: [...(errors.get(path) ?? []).map(toProblem), ...refused],
    };
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
    skipped: count(({ definitions, errors }) => definitions.length === 0 && errors.length === 0),
  };
}
