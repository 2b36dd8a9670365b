export const JSON_MEDIA_TYPE = 'application/json';
/** The content type of responses that are already serialised. */
export const JSON_TYPE = `${JSON_MEDIA_TYPE}; charset=utf-8`;
