// Package plant builds Aisle with one bug in it, on purpose: what the judge of the faults must find. A judge that
// passes such a program checks nothing.
//
// A planted bug is a few replacements in the text of the repository's files, which go into the build as an overlay:
// the files themselves stay as they are, and the product has no hooks for it. Each old text must be there exactly
// once. So a bug that the code has outgrown is an error, which names the bug and the file, and never quietly none.
package plant
