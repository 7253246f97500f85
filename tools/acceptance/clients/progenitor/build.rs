//! Makes the client of the description whose path is in `DESCRIPTION`.

use std::{env, error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let description = env::var("DESCRIPTION")?;
    println!("cargo::rerun-if-env-changed=DESCRIPTION");
    println!("cargo::rerun-if-changed={description}");
    let document = serde_json::from_str(&fs::read_to_string(description)?)?;
    let tokens = progenitor_impl::Generator::default().generate_tokens(&document)?;
    let text = prettyplease::unparse(&syn::parse2(tokens)?);
    fs::write(Path::new(&env::var("OUT_DIR")?).join("api.rs"), text)?;
    Ok(())
}
