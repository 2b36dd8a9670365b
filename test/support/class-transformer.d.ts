/** The package has no declarations next to `cjs/storage.js`; its types are in the folder `types`. */
declare module 'class-transformer/cjs/storage.js' {
  export { defaultMetadataStorage } from 'class-transformer/types/storage.js';
}
