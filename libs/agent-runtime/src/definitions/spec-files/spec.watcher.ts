import { FolderWatcher, type FolderWatchOptions } from './folder.watcher.js';
import { SpecFileError, type SpecOptions } from './spec.js';
import { agentsFolder, loadFromDirectory, type SpecReport } from './spec.loader.js';

export interface WatchOptions extends SpecOptions, Omit<FolderWatchOptions<SpecReport>, 'locate' | 'load'> {
  /** Whether names begin with the folder of their file. */
  readonly prefixes?: boolean;
  /** Returns how files are read. Called before each pass. Absent: the options of the watcher apply. */
  readonly specOptions?: () => SpecOptions;
}

/** Loads a folder of spec files again when its files change. */
export class SpecWatcher extends FolderWatcher<SpecReport> {
  constructor(folder: string, options: WatchOptions) {
    super({
      ...options,
      locate: async () => {
        const found = await agentsFolder(folder);
        return found instanceof SpecFileError ? undefined : found;
      },
      load: async () => await loadFromDirectory(folder, options.specOptions?.() ?? options, options.prefixes),
    });
  }
}
