/**
 * Returns the media type of a request body, in lower case and without parameters; empty where the header is missing.
 */
export function mediaType(request: Request): string {
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';');
  return type.trim().toLowerCase();
}
