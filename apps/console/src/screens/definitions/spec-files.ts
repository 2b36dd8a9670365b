/** A spec file as the import accepts it. */
export interface SpecFile {
  readonly path: string;
  readonly content: string;
}

export interface ChosenFiles {
  readonly files: readonly SpecFile[];
  /** How many files are not spec files, by their name. They are not read. */
  readonly others: number;
}

const SPEC_FILE = /\.(?:md|json)$/i;

interface NamedFile {
  readonly path: string;
  readonly file: File;
}

export async function chosenFiles(list: FileList): Promise<ChosenFiles> {
  return await read([...list].map((file) => ({ path: file.webkitRelativePath || file.name, file })));
}

/** The files that were dropped, with those in dropped folders. The list of a drop is empty after the event, so it is copied first. */
export async function droppedFiles({ items }: DataTransfer): Promise<ChosenFiles> {
  const dropped = [...items]
    .filter(({ kind }) => kind === 'file')
    .map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const found = await Promise.all(
    dropped.map(async ({ entry, file }) => {
      if (entry?.isDirectory) return await filesIn(entry as FileSystemDirectoryEntry);
      return file ? [{ path: file.name, file }] : [];
    }),
  );
  return await read(found.flat());
}

async function read(all: readonly NamedFile[]): Promise<ChosenFiles> {
  const specs = all.filter(({ path }) => SPEC_FILE.test(path));
  const files = await Promise.all(specs.map(async ({ path, file }) => ({ path, content: await file.text() })));
  return { files, others: all.length - specs.length };
}

async function filesIn(folder: FileSystemDirectoryEntry): Promise<NamedFile[]> {
  const reader = folder.createReader();
  const entries: FileSystemEntry[] = [];
  for (;;) {
    // a folder is read in parts; an empty part is its end
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (part.length === 0) break;
    entries.push(...part);
  }
  const inside = await Promise.all(
    entries.map(async (entry) => {
      if (entry.isDirectory) return await filesIn(entry as FileSystemDirectoryEntry);
      const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
      return [{ path: entry.fullPath.replace(/^\//, ''), file }];
    }),
  );
  return inside.flat();
}
